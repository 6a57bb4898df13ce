/** What a rule does with a run: its actions in order, each safe to repeat. */
import { database } from "../../db/client.ts";
import type { Extension, RuleActions } from "./table.ts";
import { toProblem } from "../../lib/problem.ts";
import { callAs } from "../../http/loopback.ts";
import { LOST_SECRETS } from "../../deliveries/receiver.ts";
import { ReceiverRefused, REQUEST_TIMEOUT_MS, sendDelivery } from "../../deliveries/send.ts";
import { createExamples } from "../../traces/review/examples/write.ts";
import { findDataset } from "../../traces/review/datasets/store.ts";
import { extendTraces } from "../../traces/projects/retention.ts";
import { createFeedback } from "../../traces/review/feedback/create.ts";
import { insertItems } from "../../traces/review/queues/item-store.ts";
import { findQueue } from "../../traces/review/queues/store.ts";
import type { QueriedRun } from "../../traces/types.ts";
import { loaded, projectExports } from "../../deployment.ts";
import {
  evaluatorName,
  type RuleCall,
  FinalFailure,
  isRefusal,
  type EvaluatedRun,
  type RuleScore,
  parseScores,
} from "./evaluation.ts";
import { ASSISTANT_MS, judge, MODEL_MS } from "./judge.ts";
import type { RuleRow } from "./store.ts";

/** An action. Gives what it cost, US dollars. */
export interface RuleAction {
  /** The id that a run notes when the action is done. It stays when the rule changes, as long as the action is the same. */
  id: string;
  /** What failures call it. */
  name: string;
  /** The longest time that it takes, milliseconds. */
  most: number;
  act(call: RuleCall, run: QueriedRun, shown: EvaluatedRun): Promise<number>;
}

const CODE_MS = 30_000;
/** Of what writes to D1 and to partitions. */
const WRITE_MS = 10_000;

/** The actions of a rule. Those that cost nothing come first, and what tells others comes last. */
export function readActions({ actions }: Pick<RuleRow, "actions">): RuleAction[] {
  const { queueId, datasetId, code = [], judges = [], webhooks = [] } = actions;
  return [
    ...(isExtending(actions) ? [{ id: "extend", name: "extend_retention", most: WRITE_MS, act: toExtension }] : []),
    ...(queueId === undefined
      ? []
      : [{ id: `queue ${queueId}`, name: "annotation_queue", most: WRITE_MS, act: toQueue(queueId) }]),
    ...(datasetId === undefined
      ? []
      : [{ id: `dataset ${datasetId}`, name: "dataset", most: WRITE_MS, act: toDataset(datasetId) }]),
    ...[...new Set(code)].map((name) => ({
      id: `code ${name}`,
      name: "code_evaluator",
      most: CODE_MS + WRITE_MS,
      act: byCode(name),
    })),
    ...judges.map((one, at) => ({
      id: `judge ${one.id}`,
      name: "evaluator",
      most: (one.model.provider === "assistant" ? ASSISTANT_MS : MODEL_MS) + WRITE_MS,
      act: async (call: RuleCall, _: QueriedRun, shown: EvaluatedRun) => {
        if (one.model.provider === "openai") requireSecrets(call);
        const { scores, cost } = await judge(call, one, call.secrets.keys[at] ?? undefined, shown);
        await write(call, shown, scores);
        return cost;
      },
    })),
    ...webhooks.map(({ id, url }, at) => ({
      id: `webhook ${id}`,
      name: "webhook",
      most: REQUEST_TIMEOUT_MS,
      act: toWebhook(url, at),
    })),
  ];
}

/** An action whose secrets cannot be read fails, and is tried again: its owner may give them in the meantime. */
function requireSecrets({ secrets }: RuleCall): void {
  if (secrets.isLost) throw new Error(LOST_SECRETS);
}

/** Whether a rule extends the retention: by itself, or with an action that it has. */
function isExtending({ extend = [], queueId, datasetId, code, judges, webhooks }: RuleActions): boolean {
  const has: Record<Extension, boolean> = {
    extend_only: true,
    extend_evaluator_trace_retention: code !== undefined || judges !== undefined,
    extend_dataset_trace_retention: datasetId !== undefined,
    extend_annotation_queue_trace_retention: queueId !== undefined,
    extend_webhook_trace_retention: webhooks !== undefined,
  };
  return extend.some((name) => has[name]);
}

/** Whether the failure of an action is one that another attempt does not change. */
export function isFinal(error: unknown): boolean {
  return error instanceof FinalFailure || error instanceof ReceiverRefused || isRefusal(toProblem(error).status);
}

const toExtension = async ({ env, rule }: RuleCall, run: QueriedRun) => {
  await extendTraces(env, rule.workspaceId, [run]);
  return 0;
};

const toQueue = (queueId: string) => async (call: RuleCall, run: QueriedRun) => {
  const { env, rule } = call;
  const db = database(env.DB);
  const queue = await findQueue(db, rule.workspaceId, queueId);
  if (!queue) throw new FinalFailure("The annotation queue no longer exists.");
  const held = await insertItems(db, queue, [
    {
      id: evaluatorName(call),
      workspaceId: rule.workspaceId,
      queueId,
      projectId: run.session_id,
      runId: run.id,
      traceId: run.trace_id,
      threadId: null,
      startTime: run.start_time,
      addedAt: Date.now(),
      lastReviewedAt: null,
      completedAt: null,
      sourceProposedExampleId: null,
    },
  ]);
  if (!held) throw new FinalFailure("The annotation queue is full.");
  return 0;
};

const toDataset = (datasetId: string) => async (call: RuleCall, run: QueriedRun) => {
  const { env, rule } = call;
  const dataset = await findDataset(database(env.DB), rule.workspaceId, datasetId);
  if (!dataset) throw new FinalFailure("The dataset no longer exists.");
  const head = { source_run_id: run.id, use_source_run_io: true };
  await createExamples(env, dataset, [{ id: evaluatorName(call), head, attachments: [] }]);
  return 0;
};

const byCode = (name: string) => async (call: RuleCall, _: QueriedRun, shown: EvaluatedRun) => {
  const known = projectExports.evaluators?.[name];
  if (!known) throw new FinalFailure(`The deployment has no evaluator ${name}.`);
  const evaluate = await loaded(known);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`The evaluator took longer than ${CODE_MS / 1000} seconds.`)), CODE_MS);
  });
  const answer = callAs(call.behalf, async () => evaluate(shown, { env: call.env }));
  await write(call, shown, parseScores(await Promise.race([answer, late]).finally(() => clearTimeout(timer))));
  return 0;
};

const toWebhook = (url: string, at: number) => async (call: RuleCall, _: QueriedRun, shown: EvaluatedRun) => {
  requireSecrets(call);
  const { env, rule, secrets } = call;
  const { start_time, end_time, feedback_stats } = shown;
  const body = JSON.stringify({ rule_id: rule.id, start_time, end_time, runs: [shown], feedback_stats });
  const headers = { ...secrets.headers[at], "content-type": "application/json" };
  await sendDelivery(env, rule.workspaceId, { url, delivery: evaluatorName(call), headers, body });
  return 0;
};

/** Writes scores as feedback. Its ids depend on the rule, the run and the key, so that a repeated action replaces its own. */
async function write(call: RuleCall, run: EvaluatedRun, scores: RuleScore[]): Promise<void> {
  const { env, rule, place: location, behalf: caller } = call;
  for (const score of scores) {
    const body = {
      ...score,
      id: evaluatorName(call, score.key),
      run_id: run.id,
      trace_id: run.trace_id,
      feedback_source: { type: "auto_eval", metadata: { rule_id: rule.id } },
    };
    await createFeedback(env, caller.principal, body, new Map([[run.id, location]]));
  }
}
