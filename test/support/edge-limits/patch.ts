/** Replaces methods of the runtime's own prototypes, which all code of the isolate shares. */

type Method = (this: unknown, ...args: unknown[]) => unknown;

const KEY = Symbol.for("weir.edge-limits.patched");
const holder = globalThis as { [KEY]?: WeakMap<object, Set<PropertyKey>> };
const patched = (holder[KEY] ??= new WeakMap());

/** Replaces one method by what `make` makes of it. Does so once an isolate, however often this module is evaluated. */
export function patch(owner: object, name: PropertyKey, make: (original: Method) => Method): void {
  const done = patched.get(owner) ?? new Set();
  if (done.has(name)) return;
  patched.set(owner, done.add(name));
  const original = Reflect.get(owner, name) as Method;
  Reflect.defineProperty(owner, name, { value: make(original), writable: true, configurable: true });
}

/** The object whose methods all instances like this one share. */
export const getPrototype = (instance: unknown): object => Object.getPrototypeOf(instance) as object;
