/** A Durable Object class within the platform's limits: its storage, its calls, its alarm. */
import { DurableObject } from "cloudflare:workers";
import { getInvocation, invoke } from "./invocation.ts";
import { recordCrossing, recordFigure } from "./record.ts";
import { roughBytes } from "./sizes.ts";
import { guardStorage } from "./storage.ts";

type ObjectClass = new (ctx: DurableObjectState, env: Env) => DurableObject<Env>;
type Method = (this: DurableObject<Env>, ...args: unknown[]) => unknown;

/** How often the platform runs an alarm again that throws, before it drops it. */
const RETRIES = 6;

/** The class with every method an invocation of its own. */
export function guardObject<T extends ObjectClass>(product: T): T {
  const constructing = new Proxy<ObjectClass>(product, {
    construct(target, args: [DurableObjectState, Env], newTarget) {
      guardStorage(args[0].storage);
      return invoke(`new ${product.name}`, () => Reflect.construct(target, args, newTarget) as DurableObject<Env>);
    },
  });
  const Guarded = class extends constructing {};
  for (const name of listMethods(product)) {
    const method = Reflect.get(product.prototype as object, name) as Method;
    Reflect.defineProperty(Guarded.prototype, name, {
      value: guardMethod(`${product.name}.${name}`, name === "alarm" ? guardAlarm(product.name, method) : method),
      configurable: true,
      writable: true,
    });
  }
  return Guarded as unknown as T;
}

/** Names of the methods of the class and of those it extends. */
function listMethods(product: ObjectClass): Set<string> {
  const names = new Set<string>();
  let prototype = product.prototype as object;
  while (prototype !== DurableObject.prototype && prototype !== Object.prototype) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name !== "constructor" && typeof value === "function") names.add(name);
    }
    prototype = Object.getPrototypeOf(prototype) as object;
  }
  return names;
}

/** A method as an invocation, unless one is under way: then the object calls itself. */
function guardMethod(name: string, method: Method): Method {
  return function (...args) {
    if (getInvocation()) return method.apply(this, args);
    recordFigure("rpc", roughBytes(args), `${name}, arguments`);
    const result = invoke(name, () => method.apply(this, args));
    // The caller gets the method's own promise, so that nothing is put off.
    if (result instanceof Promise) {
      result.then(
        (value) => recordFigure("rpc", roughBytes(value), `${name}, result`),
        () => {},
      );
    }
    return result;
  };
}

/** An alarm that throws is a fault, though the platform runs it again: a cause that stays makes it drop the alarm. */
function guardAlarm(name: string, alarm: Method): Method {
  return async function (...args) {
    try {
      return await alarm.apply(this, args);
    } catch (error) {
      const { retryCount = 0 } = (args[0] ?? {}) as Partial<AlarmInvocationInfo>;
      recordCrossing("alarm", `${name}.alarm() threw at retry ${retryCount} of ${RETRIES}: ${String(error)}`);
      throw error;
    }
  };
}
