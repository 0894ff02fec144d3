// Starts the language server and keeps it running; everything else is the server's.

import { mkdir } from "node:fs/promises";
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";
import { findServer, type ServerCommand, type Wishes } from "./discovery";

const SERVER_COMMAND = "remat-lint.generateTest";
const SETTINGS = "rematLint";
const FIND_SETTINGS = "@ext:remat-lint.remat-lint";

let client: LanguageClient | undefined;
let queue: Promise<void> = Promise.resolve();

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("remat-lint", { log: true });
  const restart = (): Promise<void> => enqueue(() => start(context, log));
  context.subscriptions.push(
    log,
    vscode.commands.registerCommand("rematLint.restart", restart),
    vscode.commands.registerCommand("rematLint.generateTest", generateTest),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(SETTINGS)) {
        void restart();
      }
    }),
  );
  await restart();
}

export async function deactivate(): Promise<void> {
  await enqueue(stop);
}

/** One start or stop after the other, however fast they are asked for. */
function enqueue(step: () => Promise<void>): Promise<void> {
  queue = queue.then(step, step);
  return queue;
}

async function start(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Promise<void> {
  await stop();
  const cwd = context.globalStorageUri.fsPath;
  await mkdir(cwd, { recursive: true });
  const server = await findServer(readWishes(), cwd, (line) => log.info(line));
  if (server === undefined) {
    void explainMissingServer(log);
    return;
  }
  client = new LanguageClient(SETTINGS, "remat-lint", serverOptions(server, cwd), clientOptions(log));
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    log.error(`the server did not start: ${String(error)}`);
    void explainMissingServer(log);
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  if (running !== undefined) {
    await running.dispose().catch(() => undefined);
  }
}

function readWishes(): Wishes {
  const settings = vscode.workspace.getConfiguration(SETTINGS);
  return {
    serverPath: settings.get("server.path", ""),
    interpreter: settings.get("interpreter", ""),
    trusted: vscode.workspace.isTrusted,
    folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
  };
}

function serverOptions(server: ServerCommand, cwd: string): ServerOptions {
  return { command: server.command, args: server.args, options: { cwd } };
}

function clientOptions(log: vscode.LogOutputChannel): LanguageClientOptions {
  return {
    // No cells of notebooks: a cell alone lacks the imports of the cells before it.
    documentSelector: [
      { scheme: "file", language: "python" },
      { scheme: "untitled", language: "python" },
    ],
    outputChannel: log,
  };
}

async function explainMissingServer(log: vscode.LogOutputChannel): Promise<void> {
  const openSettings = "Open settings";
  const showLog = "Show log";
  const answer = await vscode.window.showErrorMessage(
    'remat-lint found no language server that starts: run "pip install remat-lint" or set rematLint.server.path.',
    openSettings,
    showLog,
  );
  if (answer === openSettings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", FIND_SETTINGS);
  } else if (answer === showLog) {
    log.show();
  }
}

async function generateTest(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (client === undefined || editor === undefined) {
    void vscode.window.showWarningMessage("remat-lint: open a Python file, with the server running, first.");
    return;
  }
  const line = editor.selection.active.line;
  await vscode.commands.executeCommand(SERVER_COMMAND, editor.document.uri.toString(), line);
}
