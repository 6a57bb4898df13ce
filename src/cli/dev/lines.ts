/** What Miniflare says, line by line. */
import { Log, LogLevel } from "./miniflare.ts";

const KEPT = 40;

export class LineLog extends Log {
  readonly #trace: (line: string) => void;
  readonly #onLost: (error: Error) => void;
  #last: string[] = [];

  /** `onLost`: workerd ended, and Miniflare cannot start it again. */
  constructor(trace: (line: string) => void, onLost: (error: Error) => void) {
    super(LogLevel.INFO);
    this.#trace = trace;
    this.#onLost = onLost;
  }

  /** Miniflare reports only in its log that workerd cannot be started again. */
  override error(error: Error): void {
    super.error(error);
    if ((error as { code?: unknown }).code === "ERR_RUNTIME_FAILURE") this.#onLost(error);
  }

  protected override log(message: string): void {
    for (const line of withoutColours(message).split("\n")) {
      this.note(line);
      this.#trace(line);
    }
  }

  /** Keeps a line for `last`. */
  note(line: string): void {
    if (line.trim() !== "") this.#last = [...this.#last, line].slice(-KEPT);
  }

  clear(): void {
    this.#last = [];
  }

  get last(): string {
    return this.#last.join("\n");
  }
}

/** Why the server did not start: what it printed, or the error where it printed nothing. */
export const lastWords = (log: LineLog, error: Error): string => log.last.trim() || error.message;

// oxlint-disable-next-line no-control-regex -- the escape character of terminals
const withoutColours = (text: string): string => text.replace(/\u001b\[[0-9;]*m/g, "");
