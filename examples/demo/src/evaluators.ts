/** An evaluator of rules on traced runs: how long the last message is. */

/** The score is the number of characters of the last message of the outputs, or of the outputs as JSON. */
export function answerLength({ outputs }: { outputs: unknown }) {
  const { messages = [] } = (outputs ?? {}) as { messages?: { content?: unknown }[] };
  const last = messages.at(-1)?.content ?? outputs ?? "";
  return { key: "answer_length", score: (typeof last === "string" ? last : JSON.stringify(last)).length };
}
