/** A graph that acts on the world: it sends payments to a receiver, each with the key of its task. */
import "../../src/runtime/install.ts";
import { getConfig, Send, START, StateGraph, StateSchema, task } from "@langchain/langgraph";
import { z } from "zod";
import { graphs } from "../../src/deployment.ts";

/** `receiver` is an address; `what` is what a payment of one of several parallel tasks is for. */
const State = new StateSchema({ receiver: z.string(), order: z.string(), what: z.string().optional() });
type State = typeof State.State;

async function send({ receiver, order }: State, what: string): Promise<object> {
  const headers = { "idempotency-key": String(getConfig()?.configurable?.idempotency_key) };
  const response = await fetch(receiver, { method: "POST", headers, body: `${order} ${what}` });
  if (!response.ok) throw new Error(`The receiver answered ${response.status}.`);
  return {};
}

const pay = (what: string) => async (state: State) => send(state, state.what ?? what);

const tax = new StateGraph(State)
  .addNode("city", pay("city tax"))
  .addNode("state", pay("state tax"))
  .addEdge(START, "city")
  .addEdge("city", "state")
  .compile();

const fee = task("fee", send);

const payments = new StateGraph(State)
  .addNode("goods", pay("goods"))
  .addNode("parcel", pay("parcel"))
  .addNode("tax", tax)
  .addNode("fees", async (state: State) => {
    await Promise.all([fee(state, "fee 1"), fee(state, "fee 2")]);
    return {};
  })
  .addEdge(START, "goods")
  .addConditionalEdges(
    "goods",
    (state) => ["parcel 1", "parcel 2"].map((what) => new Send("parcel", { ...state, what })),
    ["parcel"],
  )
  .addEdge("parcel", "tax")
  .addEdge("tax", "fees")
  .compile({ name: "payments" });

Object.assign(graphs, { payments });
