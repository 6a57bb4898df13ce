/** The Chromium of the machine. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** The headless shell comes first: it takes a third of the processor time of the whole browser. */
const PATHS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

export const CHROMIUM = process.env.CHROMIUM ?? PATHS.find((path) => existsSync(path));

/** How to get one, for messages. */
export const CHROMIUM_NEEDED = "Chromium (apt-get install chromium-headless-shell, or CHROMIUM=<path>)";

/** Starts it, with more arguments if given. */
export function launch(...more: string[]): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error(`This needs ${CHROMIUM_NEEDED}.`);
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", ...more],
  });
}
