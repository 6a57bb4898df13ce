/** Counts what calls a Durable Object, and how long it is active, on the methods of its class. */
import { AsyncLocalStorage } from "node:async_hooks";
import { DurableObject } from "cloudflare:workers";
import { startActivity, alarms, count, type ObjectClass, work } from "./counts.ts";

type Method = (this: { ctx: DurableObjectState }, ...args: unknown[]) => unknown;

/** Set while a call from outside is carried out: what the object calls of its own is part of that call. */
const inside = new AsyncLocalStorage<true>();

/**
 * Makes each method of a class hold its object active until its promise has settled and the stream that it gives has ended.
 * This happens in the object, because a Worker stops when its client disconnects.
 */
export function countMethods(type: { prototype: object }, of: ObjectClass): void {
  const methods: Record<string, Method> = {};
  for (let from = type.prototype; from !== DurableObject.prototype; from = Object.getPrototypeOf(from) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
      if (name !== "constructor" && typeof value === "function") methods[name] ??= value as Method;
    }
  }
  for (const [name, original] of Object.entries(methods)) {
    const runCounted: Method = function runCounted(...args) {
      if (inside.getStore()) return original.apply(this, args);
      if (name === "alarm") {
        count(`alarms run: ${of}`);
        alarms.delete(this.ctx.id.toString());
      }
      if (name === "webSocketMessage") count("socket messages");
      const close = startActivity(of, this.ctx.id.toString());
      try {
        const result = inside.run(true, () => original.apply(this, args));
        // What the object calls of its own, from a timer, may be synchronous and must stay so.
        if (result instanceof Promise) return settle(work(result), close);
        close();
        return result;
      } catch (error) {
        close();
        throw error;
      }
    };
    Object.defineProperty(type.prototype, name, { value: runCounted, writable: true, configurable: true });
  }
}

/** The same result; `close` is called when the promise has settled and its stream has ended. */
async function settle(result: Promise<unknown>, close: () => void): Promise<unknown> {
  try {
    const value = await result;
    if (value instanceof ReadableStream) return untilEnd(value as ReadableStream<Uint8Array>, close);
    close();
    return value;
  } catch (error) {
    close();
    throw error;
  }
}

/** The same bytes; `close` is called when they have ended or the reader has gone. */
function untilEnd(stream: ReadableStream<Uint8Array>, close: () => void): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        close();
        controller.close();
        controller.byobRequest?.respond(0);
      } catch (error) {
        close();
        throw error;
      }
    },
    async cancel(reason) {
      close();
      await reader.cancel(reason);
    },
  });
}
