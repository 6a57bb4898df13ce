/** `npm start`: builds the page if that is due, and serves the demo graphs as any project is served. */
import { join } from "node:path";
import { run } from "../src/cli/dev.ts";
import { buildPage } from "./build-page.ts";

buildPage();
process.exitCode = await run([join(import.meta.dirname, "..", "examples", "demo"), ...process.argv.slice(2)]);
