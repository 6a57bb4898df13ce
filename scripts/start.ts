/** `npm start`: builds the page if that is due, and serves the demo graphs as any project is served. */
import { join } from "node:path";
import { reportFault } from "../src/cli/console.ts";
import { run } from "../src/cli/dev.ts";
import { buildPage } from "./build-page.ts";

const argv = [join(import.meta.dirname, "..", "examples", "demo"), ...process.argv.slice(2)];
process.exitCode = await run(argv, buildPage).catch(reportFault);
