/**
 * `npm run check:history -- --url URL`: concurrent clients work on shared threads of an Agent Server, and what they saw is
 * checked against rules (README.md). Exit codes: 0 without violations, 1 with some, 2 for wrong arguments.
 */
import { detectFeatures, runRound, findViolations } from "./check.ts";
import { readOptions, USAGE } from "./options.ts";
import type { History } from "./record.ts";
import { countOutcomes, describe } from "./report.ts";

/** Violations that are printed. They are mostly of one kind. */
const MOST = 30;

function optionsOrExit(): ReturnType<typeof readOptions> {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}

const options = optionsOrExit();
const features = await detectFeatures(options);
const { seed, seconds, round } = options;
console.log(`${features.name} at ${options.address.url}, seed ${seed}`);
console.log("The same seed makes the same choices. The interleaving of the clients is not repeated.\n");

const histories: History[] = [];
const rules: Record<string, number> = {};
let printed = 0;
for (let index = 0; index * round < seconds; index += 1) {
  const history = await runRound(options, features, seed + index);
  const violations = findViolations(history);
  histories.push({ ...history, operations: history.operations });
  console.log(
    `round ${index + 1}, seed ${seed + index}: ${history.operations.length} operations, ${violations.length} violations`,
  );
  for (const violation of violations) {
    rules[violation.rule] = (rules[violation.rule] ?? 0) + 1;
    if (printed < MOST) console.log(`\n${describe(violation, history)}\n`);
    printed += 1;
  }
}
console.table(countOutcomes(histories));
if (printed > 0) console.table(rules);
console.log(`${printed} violations`);
// Connections to the server may be open still.
process.exit(printed > 0 ? 1 : 0);
