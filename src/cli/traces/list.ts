/** `weir traces list`. */
import { printJson } from "../format.ts";
import { formatLine } from "./line.ts";
import { buildQuery, type TraceOptions } from "./options.ts";
import { gatherRuns, LISTED } from "./pages.ts";

export async function listTraces(options: TraceOptions): Promise<void> {
  const limit = options.limit(20, 1_000);
  const { runs, more } = await gatherRuns(options.call, { ...(await buildQuery(options)), selects: LISTED }, limit);
  if (options.values.json) return printJson(runs);
  for (const run of runs) console.log(formatLine(run));
  if (runs.length === 0) console.error('No traces match. --since is 1d if left out; --project is "default".');
  if (more) console.error(`There are more than ${limit}. --limit shows more, --until those before a time.`);
}
