/** A trace of an agent with model calls, tools, a subagent, and a tool that failed. */
import type { Access } from "../../test/support/server.ts";
import { callAs } from "../../test/support/workspace.ts";

interface Step {
  name: string;
  type: "chain" | "llm" | "tool";
  /** In milliseconds after the trace began. */
  from: number;
  to: number;
  inputs: object;
  outputs?: object;
  error?: string;
  steps?: Step[];
}

const question = { messages: [{ role: "user", content: "Refund order 1182 and tell the customer why it was late." }] };
const answer = "Order 1182 was charged twice. 84.20 EUR are refunded; the carrier gave no reason for the delay.";

const REFUND: Step = {
  name: "refund_agent",
  type: "chain",
  from: 0,
  to: 8_410,
  inputs: question,
  outputs: { messages: [...question.messages, { role: "assistant", content: answer }] },
  steps: [
    {
      name: "plan",
      type: "llm",
      from: 20,
      to: 760,
      inputs: question,
      outputs: createAnswer("Read the order, then refund it.", 410),
    },
    {
      name: "get_order",
      type: "tool",
      from: 790,
      to: 1_200,
      inputs: { order_id: 1182 },
      outputs: { order_id: 1182, customer: "Ada", paid_eur: 84.2, charges: 2, ordered: "2026-11-18" },
    },
    {
      name: "researcher",
      type: "chain",
      from: 1_260,
      to: 5_140,
      inputs: { topic: "Why was order 1182 late?" },
      outputs: { findings: "The carrier did not answer." },
      steps: [
        {
          name: "plan",
          type: "llm",
          from: 1_290,
          to: 2_200,
          inputs: question,
          outputs: createAnswer("Ask the carrier.", 220),
        },
        {
          name: "carrier_notices",
          type: "tool",
          from: 2_240,
          to: 3_440,
          inputs: { carrier: "north", order_id: 1182 },
          error: "TimeoutError: carrier_notices did not answer within 1.2 s\n    at fetchNotices (tools/carrier.ts:41)",
        },
        {
          name: "summarize",
          type: "llm",
          from: 3_470,
          to: 5_110,
          inputs: question,
          outputs: createAnswer("No notice was found.", 180),
        },
      ],
    },
    {
      name: "issue_refund",
      type: "tool",
      from: 5_200,
      to: 6_310,
      inputs: { order_id: 1182, amount_eur: 84.2 },
      outputs: { refund: "re_20414", state: "accepted" },
    },
    { name: "answer", type: "llm", from: 6_350, to: 8_390, inputs: question, outputs: createAnswer(answer, 900) },
  ],
};

function createAnswer(content: string, output_tokens: number) {
  const usage_metadata = { input_tokens: 1_280, output_tokens, total_tokens: 1_280 + output_tokens };
  return { messages: [{ role: "assistant", content }], usage_metadata };
}

/** Sends the trace, and feedback on it. Its id. */
export async function sendRefund(server: Access, session_name: string): Promise<string> {
  const begin = Date.now() - 60_000;
  const time = (at: number) => new Date(begin + at).toISOString();
  const post: object[] = [];
  const add = (step: Step, trace?: string, above?: { id: string; order: string }) => {
    const id = crypto.randomUUID();
    const order = `${above ? `${above.order}.` : ""}${time(step.from).replace(/[-:.]/g, "").slice(0, -1)}000Z${id}`;
    const { name, inputs, outputs, error } = step;
    const model = { ls_model_name: "gpt-4o-mini", ls_provider: "openai" };
    const metadata = step.type === "llm" ? model : { customer: "Ada", release: "2026-11-20" };
    post.push({
      id,
      trace_id: trace ?? id,
      ...(above && { parent_run_id: above.id }),
      dotted_order: order,
      session_name,
      name,
      run_type: step.type,
      start_time: time(step.from),
      end_time: time(step.to),
      inputs,
      outputs,
      error,
      ...(step.type === "llm" && { events: [{ name: "new_token", time: time(step.from + 300) }] }),
      tags: above ? [] : ["support", "refund"],
      extra: { metadata },
    });
    for (const one of step.steps ?? []) add(one, trace ?? id, { id, order });
    return id;
  };
  const trace = add(REFUND);
  await callAs(server, "POST", "/api/v1/runs/batch", { post, patch: [] });
  const feedback = { run_id: trace, key: "helpful", score: 1, comment: "Right amount, but no reason for the delay." };
  await callAs(server, "POST", "/api/v1/feedback", feedback);
  return trace;
}
