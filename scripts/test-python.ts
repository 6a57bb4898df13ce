/** `npm run test:python`: the tests with clients in Python (test/python). Their environments must be there: a skipped test is a failed one. */
import { runSuite } from "./tests/suite.ts";
import { program } from "../test/python/support/environment.ts";

try {
  program("clients", "python");
  program("server", "langgraph");
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
const { passed, failed, skipped, success, failures } = runSuite("python");
for (const { name, errors } of failures) console.log(`\nFailed: ${name}\n${errors.join("\n")}`);
console.log(`\n${passed} passed, ${failed + skipped} failed`);
if (!success || skipped > 0) process.exitCode = 1;
