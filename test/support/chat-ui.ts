/**
 * What the chat applications of LangChain do with `useStream` of @langchain/langgraph-sdk/react: agent-chat-ui (fdc87e6) and
 * deep-agents-ui (f6a4f34), with the options and in the order of their sources.
 */
import { createElement, createRoot, page } from "./react-dom.ts";

interface Message {
  id?: string;
  type: string;
  content: unknown;
  tool_calls?: { id?: string; name: string }[];
  tool_call_id?: string;
}
interface Checkpoint {
  checkpoint_id?: string;
}
export interface ChatStream {
  messages: Message[];
  values: Record<string, unknown>;
  interrupt?: { value?: unknown };
  isLoading: boolean;
  isThreadLoading?: boolean;
  error?: unknown;
  branch: string;
  setBranch(branch: string): void;
  submit(input: unknown, options?: object): unknown;
  stop(): unknown;
  getMessagesMetadata(
    message: Message,
  ):
    | { firstSeenState?: { parent_checkpoint?: Checkpoint | null }; branch?: string; branchOptions?: string[] }
    | undefined;
}
type UseStream = (options: object) => unknown;

const MOST_MS = 30_000;

/** A mounted chat. */
export class Chat {
  stream!: ChatStream;
  threadId: string | null = null;
  #root = createRoot(page.document.createElement("div"));
  #render: () => void;

  constructor(useStream: UseStream, options: object, threadId: string | null = null) {
    this.threadId = threadId;
    const onThreadId = (id: string) => {
      this.threadId = id;
      this.#render();
    };
    const Probe = () => {
      this.stream = useStream({ ...options, threadId: this.threadId, onThreadId }) as ChatStream;
      return null;
    };
    this.#render = () => this.#root.render(createElement(Probe));
    this.#render();
  }

  async waitUntil(holds: (stream: ChatStream) => boolean): Promise<void> {
    for (const begun = Date.now(); !(this.stream as ChatStream | undefined) || !holds(this.stream);) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      if (Date.now() - begun < MOST_MS) continue;
      const { isLoading, error, messages } = this.stream;
      throw new Error(
        `The chat stays at ${JSON.stringify({ isLoading, error: String(error), messages })}, not ${String(holds)}`,
      );
    }
  }

  /** Submits, and waits until the run has ended and the history is read again. */
  async submit(input: unknown, options?: object): Promise<void> {
    await Promise.all([this.waitUntil(({ isLoading }) => isLoading), this.stream.submit(input, options)]);
    await this.waitUntil(({ isLoading }) => !isLoading);
  }

  close(): void {
    this.#root.unmount();
  }
}

/** `handleSubmit`, `handleRegenerate` and `handleSubmitEdit` of agent-chat-ui. */
export const AGENT_CHAT = { streamMode: ["values"], streamSubgraphs: true, streamResumable: true };

export const createMessage = (content: string) => ({
  id: crypto.randomUUID(),
  type: "human",
  content: [{ type: "text", text: content }],
});
