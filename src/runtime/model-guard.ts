/**
 * Asks before each model call of a run whether it may be made, and reports what it has used. A call that is refused pauses its
 * task: the question is thrown as LangGraph's own interrupts are, so LangGraph stores it and streams it. `interrupt()` would
 * count it among the questions of the node, and give the node its answer.
 */
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { LLMResult } from "@langchain/core/outputs";

type Metadata = Record<string, unknown>;

export interface GuardInterrupt {
  id: string;
  value: unknown;
}

/** Decides about model calls. */
export interface ModelCallDecider {
  /** The questions to ask first; none when the call may be made. Throws what ends the run. */
  ask(): Promise<GuardInterrupt[]>;
  /** A model call has ended. `metadata`: that of the call. */
  used(output: LLMResult, metadata: Metadata): void;
}

/**
 * The question as an error. LangGraph recognises its interrupts by these members in all versions. LangChain's `withRetry` repeats
 * every error but a TypeError, and its clients of models every status but some, of which 402 (payment required) is one.
 */
class Refused extends TypeError {
  override name = "GraphInterrupt";
  readonly is_bubble_up = true;
  readonly status = 402;

  constructor(readonly interrupts: GuardInterrupt[]) {
    super("A model call was not made: a budget is reached.");
  }
}

/** By the namespace of their tasks, as LangGraph has it in the metadata of a call. */
const namespaceIn = ({ langgraph_checkpoint_ns: inner, checkpoint_ns: outer }: Metadata): string => {
  const namespace = inner ?? outer;
  return typeof namespace === "string" ? namespace : "";
};

export class ModelGuard extends BaseCallbackHandler {
  name = "WeirGuard";
  override awaitHandlers = true;
  override raiseError = true;
  #calls = new Map<string, Metadata>();
  #refused = new Map<string, Refused>();

  /** `dropped`: called with the run id of a call that was refused, which other handlers take for begun. */
  constructor(
    private readonly decider: ModelCallDecider,
    private readonly dropped: (callId: string) => void,
  ) {
    super();
  }

  override async handleChatModelStart(
    _llm: unknown,
    _messages: unknown,
    callId: string,
    _parent?: string,
    _extra?: unknown,
    _tags?: string[],
    metadata: Metadata = {},
  ): Promise<void> {
    try {
      const questions = await this.decider.ask();
      if (questions.length === 0) return void this.#calls.set(callId, metadata);
      const refused = new Refused(questions);
      this.#refused.set(namespaceIn(metadata), refused);
      throw refused;
    } catch (error) {
      this.dropped(callId);
      throw error;
    }
  }

  override async handleLLMStart(
    llm: unknown,
    prompts: unknown,
    callId: string,
    parent?: string,
    extra?: unknown,
    tags?: string[],
    metadata?: Metadata,
  ): Promise<void> {
    await this.handleChatModelStart(llm, prompts, callId, parent, extra, tags, metadata);
  }

  override handleLLMEnd(output: LLMResult, callId: string): void {
    const metadata = this.#calls.get(callId);
    this.#calls.delete(callId);
    if (metadata) this.decider.used(output, metadata);
  }

  override handleLLMError(_error: unknown, callId: string): void {
    this.#calls.delete(callId);
  }

  /**
   * Runs a task. One whose model call was refused does not end: code of a node, a middleware or a fallback may have caught
   * the question.
   */
  readonly task = async (namespace: string, work: () => unknown): Promise<unknown> => {
    const result = await work();
    for (const [refused, error] of this.#refused)
      if (refused === namespace || refused.startsWith(`${namespace}|`)) throw error;
    return result;
  };
}
