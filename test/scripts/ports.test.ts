/** The ports that tests draw (test/support/ports.ts). */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const PORTS = join(import.meta.dirname, "..", "support", "ports.ts");
/** Draws ports, and keeps them until all processes have drawn. */
const DRAW = `
import { quietPort } from ${JSON.stringify(PORTS)};
const ports = [];
for (let n = 0; n < 200; n += 1) ports.push(await quietPort());
console.log(ports.join());
setTimeout(() => {}, 2_000);
`;

it("no two processes draw the same port", async () => {
  const args = ["--input-type=module", "--no-warnings", "--eval", DRAW];
  const drawn = await Promise.all([0, 1, 2].map(() => promisify(execFile)(process.execPath, args)));
  const ports = drawn.flatMap(({ stdout }) => stdout.trim().split(","));
  expect(ports).toHaveLength(600);
  expect(new Set(ports).size).toBe(600);
});
