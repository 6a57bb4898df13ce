/** Events that a graph emits with LangChain's `dispatchCustomEvent`. */
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";

/** Passes each on as LangChain's `on_custom_event`. The mode `events` of LangGraph has them among its others. */
export class DispatchedEvents extends BaseCallbackHandler {
  name = "WeirDispatchedEvents";
  override awaitHandlers = true;

  constructor(private readonly emit: (event: unknown) => void) {
    super();
  }

  override handleCustomEvent(
    name: string,
    data: unknown,
    runId: string,
    tags: string[] = [],
    metadata: Record<string, unknown> = {},
  ): void {
    if (tags.includes("langsmith:hidden")) return;
    this.emit({ event: "on_custom_event", name, data, run_id: runId, tags, metadata });
  }
}
