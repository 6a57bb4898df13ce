/** The Worker with the demo graphs: what the tests and the benchmarks run. `npm start` serves examples/demo. */
import { createWeir } from "../../src/index.ts";
import demo from "./langgraph.json" with { type: "json" };
import { agent } from "./src/agent.ts";
import { approval } from "./src/approval.ts";
import { echo } from "./src/echo.ts";
import { answerLength } from "./src/evaluators.ts";
import { research } from "./src/research.ts";

export { Ledger, Limiter, Thread, ThreadIndex, TraceIndex, TracePartition } from "../../src/index.ts";

const { graphs } = demo;
const texts = Object.entries(graphs).map(([id, { path: _path, ...text }]) => [id, text]);

export default createWeir({
  graphs: { agent, approval, echo, research },
  evaluators: { "answer-length": answerLength },
  config: { graphs: Object.fromEntries(texts) },
});
