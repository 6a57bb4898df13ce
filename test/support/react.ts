/** Mounts the unmodified `useStream` of @langchain/react in Node. */
import { createElement, createRoot, page } from "./react-dom.ts";

const { HttpAgentServerAdapter, useStream } = await import("@langchain/react");

export { HttpAgentServerAdapter };

export interface Spoken {
  id?: string;
  type: string;
  content: unknown;
  text: string;
}

export interface Stream {
  messages: Spoken[];
  interrupts: { id?: string; value: unknown }[];
  toolCalls: { name: string; status: string }[];
  isLoading: boolean;
  isThreadLoading: boolean;
  error: unknown;
  submit(input: unknown, options?: object): Promise<void>;
  respond(response: unknown, options?: object): Promise<void>;
  respondAll(responses: Record<string, unknown>): Promise<void>;
  stop(): Promise<void>;
}

export class Tab {
  stream!: Stream;
  /** Every interrupt that was ever shown. */
  readonly shown = new Set<string>();
  #root = createRoot(page.document.createElement("div"));

  constructor(options: object) {
    const Probe = () => {
      this.stream = useStream(options as never) as unknown as Stream;
      for (const { id } of this.stream.interrupts) if (id) this.shown.add(id);
      return null;
    };
    this.#root.render(createElement(Probe));
  }

  async waitUntil(holds: (stream: Stream) => boolean): Promise<void> {
    while (!(this.stream as Stream | undefined) || !holds(this.stream)) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** What is said, as type and text. */
  listSaid(): [string, string][] {
    return this.stream.messages.map(({ type, text }) => [type, text]);
  }

  close(): void {
    this.#root.unmount();
  }
}
