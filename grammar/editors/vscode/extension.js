// SPDX-License-Identifier: Apache-2.0
// Starts `collage-rules lsp` for both languages. What lenses run is a command of the server; which tests failed, and
// why, goes to the output channel beside the server's own message.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function reportTests(channel, result) {
  for (const test of result.tests) {
    const what = `${test.backend} ${test.rule}, line ${test.range.start.line + 1}`;
    channel.appendLine(test.passed ? `ok      ${what}` : `FAILED  ${what}: ${test.message}`);
  }
  channel.appendLine(`${result.passed} passed, ${result.failed} failed`);
  if (result.failed > 0) channel.show(true);
}

async function activate(context) {
  const channel = vscode.window.createOutputChannel("Collage");
  const command = vscode.workspace.getConfiguration("collage").get("rulesTool");
  const server = { command, args: ["lsp"] };
  client = new LanguageClient("collage", "Collage", server, {
    documentSelector: ["collage-rules", "collage-model"].map((language) => ({ language })),
    outputChannel: channel,
    middleware: {
      executeCommand: async (name, args, next) => {
        const result = await next(name, args);
        if (result && result.tests) reportTests(channel, result);
        return result;
      },
    },
  });
  context.subscriptions.push(channel);
  try {
    await client.start();
  } catch (error) {
    const hint = "The setting collage.rulesTool says where collage-rules is.";
    vscode.window.showErrorMessage(`\`${command} lsp\` does not start: ${error.message}. ${hint}`);
  }
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
