/** What the graphs of graphs.ts do, for the model. */
import { type Pause, wordsFor } from "./graphs.ts";

/** The nodes between `speak` and the last one, in the order in which their results are applied. */
export const listMiddle = (pause: Pause): string[] => (pause === "parallel" ? ["free", "left", "right"] : ["ask"]);

const QUESTIONS: Record<Pause, Record<string, string[]>> = {
  none: {},
  breakpoint: {},
  interrupt: { ask: ["Ask?"] },
  nested: { ask: ["Deep?"] },
  twice: { ask: ["One?", "Two?"] },
  parallel: { left: ["Left?"], right: ["Right?"] },
};

/** What the node asks in this turn, in order. */
export const listQuestions = (pause: Pause, node: string, turn: string): string[] =>
  turn.endsWith("?") ? (QUESTIONS[pause][node] ?? []) : [];

/** What the graph says in this turn. */
export const joinSaid = (turn: string): string => wordsFor(turn).join("");
