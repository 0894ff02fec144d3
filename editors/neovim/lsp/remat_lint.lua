---@brief
---
--- Language server of remat-lint, a linter for `jax.checkpoint` and `jax.remat`.
--- Install it with `pip install remat-lint`; `remat-lint-server` must then be on `PATH`.
---
--- The program is started by its name and never with `python -m`, which would import modules of the folder that
--- Neovim stands in.

---@type vim.lsp.Config
return {
  cmd = { 'remat-lint-server' },
  filetypes = { 'python' },
  root_markers = { 'remat-lint.toml', 'pyproject.toml', '.git' },
}
