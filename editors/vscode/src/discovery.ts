// Finds a server that starts. How it is started decides whether code from the opened folder runs: see `probe`.

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, realpath } from "node:fs/promises";
import * as path from "node:path";

/** A command line, never with an empty argument: `python ""` would run the current folder. */
export interface ServerCommand {
  command: string;
  args: string[];
}

/** What the user asked for; empty strings mean nothing was set. */
export interface Wishes {
  serverPath: string;
  interpreter: string;
  trusted: boolean;
  folders: string[];
}

const PROBE_LIMIT_MS = 10_000;
const SERVER = "remat-lint-server";
const MODULE = ["-P", "-m", "remat_lint_server"];

/** Returns the first command that starts, and says of each one tried why it does not. */
export async function findServer(
  wishes: Wishes,
  cwd: string,
  log: (line: string) => void,
): Promise<ServerCommand | undefined> {
  for (const candidate of await listCandidates(wishes)) {
    const answer = await probe(candidate, cwd);
    log(`${[candidate.command, ...candidate.args].join(" ")}: ${answer.text}`);
    if (answer.works) {
      return candidate;
    }
  }
  return undefined;
}

async function listCandidates(wishes: Wishes): Promise<ServerCommand[]> {
  const serverPath = wishes.trusted ? wishes.serverPath.trim() : "";
  const interpreter = wishes.trusted ? wishes.interpreter.trim() : "";
  if (serverPath !== "") {
    // A path that was set and does not work is an error to show, not a reason to start something else.
    return [{ command: serverPath, args: [] }];
  }
  if (interpreter !== "") {
    return [{ command: interpreter, args: MODULE }];
  }
  const found: ServerCommand[] = [];
  for (const command of await onPath([SERVER], wishes)) {
    found.push({ command, args: [] });
  }
  for (const command of await onPath(["python3", "python"], wishes)) {
    found.push({ command, args: MODULE });
  }
  return found;
}

/** Absolute places of programs on PATH; what lies in a folder that is not trusted is left out. */
async function onPath(names: string[], wishes: Wishes): Promise<string[]> {
  const suffixes = process.platform === "win32" ? [".exe"] : [""];
  const folders = (process.env["PATH"] ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const found: string[] = [];
  for (const name of names) {
    for (const folder of folders) {
      for (const suffix of suffixes) {
        const file = path.join(folder, name + suffix);
        if ((await isExecutable(file)) && (wishes.trusted || !(await isInside(file, wishes.folders)))) {
          found.push(file);
        }
      }
    }
  }
  return found;
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function isInside(file: string, folders: string[]): Promise<boolean> {
  for (const folder of folders) {
    const top = await realpath(folder).catch(() => folder);
    for (const name of [file, await realpath(file).catch(() => file)]) {
      const way = path.relative(top, name);
      if (way !== "" && !way.startsWith("..") && !path.isAbsolute(way)) {
        return true;
      }
    }
  }
  return false;
}

/**
 * Asks a command for its versions. It runs in the extension's own folder, with `-P` where Python is named, so that
 * no module of the opened folder is imported.
 */
function probe(candidate: ServerCommand, cwd: string): Promise<{ works: boolean; text: string }> {
  return new Promise((resolve) => {
    execFile(
      candidate.command,
      [...candidate.args, "--check"],
      { cwd, timeout: PROBE_LIMIT_MS, windowsHide: true },
      (error, stdout, stderr) => {
        if (error !== null) {
          const reason = error.killed ? `no answer within ${PROBE_LIMIT_MS / 1000} s` : error.message;
          resolve({ works: false, text: `does not start: ${(stderr.trim() || reason).split("\n").pop() ?? ""}` });
          return;
        }
        resolve(readVersions(stdout));
      },
    );
  });
}

function readVersions(stdout: string): { works: boolean; text: string } {
  try {
    const versions: unknown = JSON.parse(stdout);
    if (typeof versions === "object" && versions !== null && "remat-lint" in versions) {
      return { works: true, text: stdout.trim() };
    }
  } catch {
    // Not JSON: some other program of that name.
  }
  return { works: false, text: "is not a remat-lint server" };
}
