// Drives VS Code through one user's way: see a finding, read about it, fix it, save, generate a test.
// node vscode_flow.js ADDRESS FOLDER   The last line of the output is what was seen, as JSON.
"use strict";
const { chromium } = require("playwright-core");

const [address, folder] = process.argv.slice(2);
const shots = process.env.SHOTS ?? ".";
const PATIENCE = { timeout: 60_000 };
const begun = Date.now();
const log = (text) => console.log(`${((Date.now() - begun) / 1000).toFixed(1)} s  ${text}`);

async function main() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const shot = (name) => page.screenshot({ path: `${shots}/vscode-${name}.png` });
  const seen = {};
  try {
    await openFile(page);
    seen.problem = await readProblem(page);
    await shot("squiggle");
    seen.hover = await readHover(page);
    await shot("hover");
    seen.menu = await openMenu(page);
    await shot("menu");
    await applyFix(page);
    await shot("fixed");
    seen.generated = await generate(page);
    await shot("generated");
  } catch (error) {
    await shot("failure");
    throw error;
  } finally {
    await browser.close();
  }
  console.log(JSON.stringify(seen));
}

async function openFile(page) {
  await page.goto(`${address}?folder=${encodeURIComponent(folder)}`, { waitUntil: "domcontentloaded" });
  const row = page.locator(".explorer-folders-view .monaco-list-row", { hasText: "demo.py" });
  await row.waitFor(PATIENCE);
  await row.dblclick();
  await page.waitForSelector(".monaco-editor .squiggly-error", PATIENCE);
  log("squiggle");
}

async function readProblem(page) {
  await page.keyboard.press("Control+Shift+KeyM");
  const row = page.locator(".markers-panel .monaco-list-row .marker-message-details-container").first();
  await row.waitFor(PATIENCE);
  const text = (await row.innerText()).trim();
  log(`problem: ${text.slice(0, 80)}`);
  return text;
}

async function readHover(page) {
  await page.keyboard.press("Control+Shift+KeyM");
  await page.locator(".monaco-editor .view-line span span", { hasText: "checkpoint" }).first().hover();
  const hover = page.locator(".monaco-hover:visible", { hasText: "Results of matrix products" });
  await hover.first().waitFor(PATIENCE);
  await page.waitForTimeout(500); // It fades in.
  const text = (await hover.first().innerText()).replace(/\s+/g, " ");
  log(`hover: ${text.slice(0, 80)}`);
  return text;
}

async function openMenu(page) {
  await page.locator(".monaco-editor .view-line", { hasText: "import" }).first().click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("F8");
  await page.waitForSelector(".zone-widget", PATIENCE);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Period");
  await page.waitForSelector(".action-widget .monaco-list-row", PATIENCE);
  await page.locator(".action-widget .monaco-list-row", { hasText: "functools.partial" }).first().waitFor(PATIENCE);
  const rows = await page.locator(".action-widget .monaco-list-row").allInnerTexts();
  log(`menu: ${rows.join(" | ")}`);
  return rows;
}

async function applyFix(page) {
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".monaco-editor .squiggly-error") === null, null, PATIENCE);
  await page.keyboard.press("Control+KeyS");
  await page.waitForFunction(() => document.querySelector(".tab.active.dirty") === null, null, PATIENCE);
  log("fixed and saved");
}

async function generate(page) {
  await page.locator(".monaco-editor .view-line", { hasText: "def loss" }).first().click();
  await page.keyboard.press("F1");
  await page.waitForSelector(".quick-input-widget:visible", PATIENCE);
  await page.keyboard.type("remat-lint: Generate equivalence test");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Generate equivalence test" }).first().waitFor(PATIENCE);
  await page.keyboard.press("Enter");
  const tab = page.locator(".tab.active .label-name", { hasText: /^test_.*\.py$/ });
  await tab.waitFor(PATIENCE);
  await page.locator(".monaco-editor .view-line", { hasText: "remat_lint" }).first().waitFor(PATIENCE);
  const name = (await tab.innerText()).trim();
  log(`generated ${name}`);
  return name;
}

main().catch((error) => {
  console.error(String(error.message ?? error).slice(0, 1500));
  process.exit(1);
});
