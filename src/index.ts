/** The package's main export: makes the Worker of a deployment from its graphs. Wiring only. */
import "./runtime/install.ts";
import { sweepAlerts } from "./automation/alerts/evaluate.ts";
import { createApp } from "./app.ts";
import * as v from "valibot";
import { readConfig, SECTIONS, settings } from "./config.ts";
import { Budgets, deployedBudgets } from "./limits/budgets/rule.ts";
import { deployedRules, FlowRules } from "./limits/flow/rule.ts";
import { fireDueCrons, isFiring, workCrons } from "./automation/crons/fire.ts";
import { countCalls } from "./db/client.ts";
import { schedule } from "./exports/schedule.ts";
import { isExportMessage, consumeExports } from "./exports/work.ts";
import {
  type GraphEntry,
  graphs,
  Lazy,
  loaded,
  noteDeployed,
  type UiFiles,
  uis,
  type ProjectExports,
  projectExports,
  type BuiltSchemas,
  builtSchemas,
} from "./deployment.ts";
import { logError } from "./lib/log.ts";
import { runAll } from "./lib/parallel.ts";
import { Problem, problemResponse, toProblem } from "./lib/problem.ts";
import { housekeeping } from "./system/housekeeping.ts";
import { installLoopback } from "./http/loopback.ts";
import { sweepRules, isRuleMessage, workRules } from "./automation/rules/work.ts";
import { installLogger } from "./runtime/install.ts";
import { LimiterObject } from "./limits/flow/limiter.ts";
import { pushTask } from "./protocols/a2a/push.ts";
import { aguiReader, PROTOCOL as AGUI } from "./protocols/agui/begin.ts";
import { StreamingProtocol } from "./protocols/streaming/socket.ts";
import { type ThreadHooks, ThreadObject } from "./threads/object/thread.ts";
import { threadStub } from "./threads/remote.ts";

export { redeployed } from "./deployment.ts";
export { Ledger } from "./limits/budgets/ledger.ts";
export { ThreadIndex } from "./threads/search/object.ts";
export type { EvaluatedRun, Evaluator } from "./deployment.ts";
export { embeddingsFrom, workersAiEmbeddings } from "./agents/memory/vectors.ts";
export { TraceIndex } from "./traces/lookup/object.ts";
export { TracePartition } from "./traces/partition/object.ts";

export interface WeirOptions extends Omit<ProjectExports, "app"> {
  /** By graph id: a graph, what makes one, or a `lazy` module that exports either. */
  graphs: Record<string, GraphEntry | Lazy<GraphEntry>>;
  /** A Hono application whose routes come before the built-in ones. */
  app?: NonNullable<ProjectExports["app"]> | Lazy<NonNullable<ProjectExports["app"]>>;
  /** UI components by graph id: bundles for browsers, which `weir` makes of the files that langgraph.json names. */
  ui?: Record<string, UiFiles | Lazy<UiFiles>>;
  /** JSON Schemas by graph id, of graphs that are typed only in TypeScript: what `weir schemas` writes. */
  schemas?: Record<string, BuiltSchemas>;
  /** The keys of langgraph.json that the server honours while it runs. */
  config?: unknown;
}

/** langgraph.json, as far as the server reads it: its own sections, and those of nouns. */
const Config = v.strictObject({
  ...SECTIONS,
  flow: v.optional(FlowRules, []),
  budgets: v.optional(Budgets, []),
});

/** An export (`<file>:<export>`) of a module that is loaded by the first call that needs it. */
export const lazy = <T>(spec: string, load: () => Promise<Record<string, unknown>>): Lazy<T> => new Lazy<T>(spec, load);

/**
 * The Worker's handlers. Throws when `config` is not as it must be. One deployment is one call: the Durable Objects read
 * what it registers.
 */
export function createWeir({ graphs: entries, app, config: given = {}, schemas = {}, ui = {}, ...own }: WeirOptions) {
  const { flow, budgets, ...read } = readConfig(given, Config);
  const config = Object.assign(settings, read);
  deployedRules.splice(0, Infinity, ...flow);
  deployedBudgets.splice(0, Infinity, ...budgets);
  Object.assign(graphs, entries);
  Object.assign(builtSchemas, schemas);
  Object.assign(uis, ui);
  Object.assign(projectExports, own);
  noteDeployed({ graphs: entries, schemas, ui, app, config: read, own });
  let made: ReturnType<typeof createApp> | undefined;

  /** A custom application may hold checks of its own, so nothing is answered without it. */
  const loadApp = async () => {
    if (made) return made;
    if (app) projectExports.app = await loaded(app, 503);
    return (made ??= createApp(config));
  };

  // Without `mount_prefix`, which is of addresses from outside.
  installLoopback(async (request, env, ctx) => (await loadApp()).fetch(request, env, ctx));
  installLogger();

  return {
    async fetch(request, env, ctx) {
      try {
        return await (await loadApp()).fetch(removePrefix(request, config.http.mount_prefix), env, ctx);
      } catch (error) {
        return problemResponse(toProblem(error));
      }
    },
    /** Dispatches messages by their shape, so that queues may have any name. */
    async queue({ queue, messages }, env) {
      const isKnown = (one: Message) => isFiring(one) || isExportMessage(one) || isRuleMessage(one);
      for (const message of messages.filter((one) => !isKnown(one))) {
        logError("A message of no known shape is dropped.", { queue, message: message.id });
        message.ack();
      }
      await runAll({
        crons: () => workCrons(messages.filter(isFiring), env),
        exports: () => consumeExports(messages.filter(isExportMessage), env),
        rules: () => workRules(messages.filter(isRuleMessage), env),
      });
    },
    /**
     * The tasks are independent. A failure makes the invocation fail, so that it is visible in the cron events. The
     * platform does not retry it; the next minute repeats the work.
     */
    async scheduled({ scheduledTime: now }, given) {
      const allowance = countCalls(given);
      const { env } = allowance;
      await runAll({
        crons: () => fireDueCrons(env, now),
        exports: () => schedule(env),
        rules: () => sweepRules(env, now),
        alerts: () => sweepAlerts(allowance, now),
        housekeeping: () => housekeeping(env, now),
      });
    },
  } satisfies ExportedHandler<Env>;
}

/** The request as the routes know it, without the prefix that all of them have outside. */
function removePrefix(request: Request, prefix: string | undefined): Request {
  if (!prefix) return request;
  const url = new URL(request.url);
  // Metadata of an address with a path is found at the root, with that path behind its name (RFC 8414 and 9728, section 3.1).
  const [, name, rest] = /^(\/\.well-known\/[^/]+)(\/.*)$/.exec(url.pathname) ?? [];
  if (name && rest && (rest === prefix || rest.startsWith(`${prefix}/`))) {
    url.pathname = name + rest.slice(prefix.length);
    return new Request(url, request);
  }
  if (url.pathname !== prefix && !url.pathname.startsWith(`${prefix}/`))
    throw new Problem(404, `The routes of this deployment are under ${prefix}.`);
  url.pathname = url.pathname.slice(prefix.length) || "/";
  return new Request(url, request);
}

/** The part of the protocols in a thread's object: sockets and streams of the streaming protocol, A2A's tasks, and AG-UI's requests. */
const threadHooks: ThreadHooks = {
  onTask: pushTask,
  readers: { [AGUI]: aguiReader },
  openProtocol: (...given) => new StreamingProtocol(...given),
};

/** The Durable Object of a thread. */
export class Thread extends ThreadObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, threadHooks);
  }
}

/** The Durable Object of a workspace's flow control. It calls the threads whose runs get their slots. */
export class Limiter extends LimiterObject {
  constructor(ctx: DurableObjectState, env: Env) {
    const workspaceId = ctx.id.name ?? "";
    super(ctx, env, (threadId, ...run) => threadStub(env, workspaceId, threadId).grant(...run));
  }
}
