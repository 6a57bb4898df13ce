/**
 * The Durable Object class of a workspace's lists: `threads/search` has its threads, `flow` its limiter, `budgets` its budgets, each in objects of its own.
 * A class more would end `wrangler rollback` to versions without it, and ejected workers would have to export it. Wiring only.
 */
import { Ledger } from "./limits/budgets/ledger.ts";
import { budgetsWorkspace } from "./limits/budgets/rpc.ts";
import { findLimiter } from "./limits/flow/rpc.ts";
import { Limiter } from "./limits/flow/limiter.ts";
import { answerCall } from "./lib/rpc.ts";
import { IndexObject } from "./threads/search/object.ts";
import { threadStub } from "./threads/stub.ts";

export class ThreadIndex extends IndexObject {
  readonly #limiter: Limiter | undefined;
  readonly #ledger: Ledger | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    if (budgetsWorkspace(ctx.id.name) !== undefined) this.#ledger = new Ledger(ctx.storage);
    const workspaceId = findLimiter(ctx.id.name);
    if (workspaceId === undefined) return;
    this.#limiter = new Limiter(ctx, (threadId, ...run) => threadStub(env, workspaceId, threadId).grant(...run));
  }

  override async answer(method: string, args: unknown[]): Promise<unknown> {
    const object = this.#limiter ?? this.#ledger;
    return object ? answerCall(object, method, args) : super.answer(method, args);
  }

  override async alarm(): Promise<void> {
    await this.#limiter?.alarm();
  }
}
