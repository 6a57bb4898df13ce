/** The options of `npm run bench`. */
import { parseArgs } from "node:util";
import { type Graph, WORK } from "./runs/drive.ts";
import { CODECS, type Options } from "./bench.ts";

const numbers = (text: string) => text.split(",").map(Number);

export function readOptions(): { names: string[]; options: Options } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      url: { type: "string" },
      key: { type: "string" },
      pid: { type: "string" },
      against: { type: "string" },
      runs: { type: "string", default: "50" },
      rounds: { type: "string", default: "5" },
      at: { type: "string", default: "1,16,64,200" },
      rows: { type: "string", default: "200000" },
      copies: { type: "string", default: "1" },
      idle: { type: "string", default: "300" },
      codecs: { type: "string", default: CODECS.join() },
      graphs: { type: "string", default: Object.keys(WORK).join() },
    },
  });
  const { url, key, against } = values;
  const pid = values.pid === undefined ? undefined : Number(values.pid);
  const [runs, rounds, atOnce] = [Number(values.runs), Number(values.rounds), numbers(values.at)];
  const [rows, copies, idle] = [Number(values.rows), Number(values.copies), Number(values.idle)];
  const codecs = CODECS.filter((codec) => values.codecs.split(",").includes(codec));
  if (
    ![runs, rounds, rows, copies, idle, pid ?? 1, ...atOnce].every((number) => Number.isInteger(number) && number > 0)
  )
    throw new Error(
      "--runs, --rounds, --rows, --copies, --idle and --pid take a whole number from 1 on, --at such numbers with commas between.",
    );
  const graphs = values.graphs.split(",");
  const unknown = graphs.find((graph) => !(graph in WORK));
  if (unknown) throw new Error(`--graphs takes ${Object.keys(WORK).join(" and ")}, not "${unknown}".`);
  const options = {
    url,
    key,
    pid,
    against,
    runs,
    rounds,
    rows,
    copies,
    idle,
    codecs,
    atOnce,
    graphs: graphs as Graph[],
  };
  return { names: positionals, options };
}
