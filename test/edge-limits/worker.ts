/** The Worker of the tests in workerd, with one more Durable Object class: one that runs the commands of a test. */
import { DurableObject } from "cloudflare:workers";
import { getInvocation } from "../support/edge-limits/invocation.ts";
import { guardObject } from "../support/edge-limits/objects.ts";

export { default } from "../support/edge-worker.ts";
export * from "../support/edge-worker.ts";

class Plain extends DurableObject<Env> {
  /** Whether the alarm throws. */
  failing = false;

  override async alarm(): Promise<void> {
    if (this.failing) throw new Error("The alarm fails.");
  }

  async echo(text: string): Promise<string> {
    return text;
  }

  async repeat(text: string, times: number): Promise<string> {
    return text.repeat(times);
  }

  /** A stream of one chunk with this many bytes. */
  async stream(bytes: number): Promise<ReadableStream<Uint8Array>> {
    return new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(bytes));
        controller.close();
      },
    });
  }

  /** Asks another object of the class this many times, as if `spent` subrequests had been made. */
  async ask(times: number, spent = 0): Promise<void> {
    const { PROBE } = this.env as Env & { PROBE: DurableObjectNamespace<Plain> };
    const other = PROBE.getByName("another");
    const invocation = getInvocation();
    if (invocation) invocation.subrequests = spent;
    for (let i = 0; i < times; i++) await other.echo("");
  }
}

export class Probe extends guardObject(Plain) {}
