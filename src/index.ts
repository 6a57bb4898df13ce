/** The Worker with the demo graphs: what the tests and the benchmarks run. `npm start` serves examples/demo. */
import { createWeir } from "./weir.ts";
import demo from "../examples/demo/langgraph.json" with { type: "json" };
import { agent } from "../examples/demo/src/agent.ts";
import { approval } from "../examples/demo/src/approval.ts";
import { echo } from "../examples/demo/src/echo.ts";
import { answerLength } from "../examples/demo/src/evaluators.ts";
import { research } from "../examples/demo/src/research.ts";

export { Thread, ThreadIndex, TracePartition } from "./weir.ts";

const { graphs } = demo;
const texts = Object.entries(graphs).map(([id, { path: _path, ...text }]) => [id, text]);

export default createWeir({
  graphs: { agent, approval, echo, research },
  evaluators: { "answer-length": answerLength },
  config: { graphs: Object.fromEntries(texts) },
});
