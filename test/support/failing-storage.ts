/** Storage that fails: writes of Durable Objects to their SQLite, and calls to D1, of this isolate. */
import { AsyncLocalStorage } from "node:async_hooks";
import { env } from "cloudflare:workers";

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** What fails. Each function says, for one write or one call, whether it fails. */
export interface Failing {
  /** A statement of an object that writes. The object's transaction is rolled back. */
  object?: (statement: string) => boolean;
  /** A call to D1 that is not carried out: a statement, or those of a batch. */
  d1?: (statements: string) => boolean;
  /** A call to D1 that is carried out, and whose answer is lost. */
  d1Answer?: (statements: string) => boolean;
}

let failing: Failing = {};
/** How many failures were injected so far. */
export const injected = { count: 0 };
/** Code of a test whose own calls to D1 do not fail. */
const reliable = new AsyncLocalStorage<boolean>();

export const runReliably = <T>(work: () => Promise<T>): Promise<T> => reliable.run(true, work);
export const runUnreliably = <T>(work: () => Promise<T>): Promise<T> => reliable.run(false, work);

/** A thread reads its shared table by a statement that begins with WITH (src/threads/store/statements.ts). */
const WRITES = /^\s*(INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH(?! \w+ AS \(SELECT .* FROM main\.thread))/i;
/** What the platform says. See "Troubleshooting" of Durable Objects and "Debug D1". */
const OBJECT_ERROR = "disk I/O error: SQLITE_IOERR";
const D1_ERROR = "D1_ERROR: Network connection lost.";

function fail(message: string): never {
  injected.count += 1;
  throw new Error(message);
}

/** Makes storage fail as given, until the returned function is called. `sql` is the storage of any object. */
export function failStorage(sql: SqlStorage, given: Failing): () => void {
  install(sql);
  failing = given;
  return () => (failing = {});
}

const installed = new WeakSet<object>();

function install(sql: SqlStorage): void {
  wrap(sql, "exec", (exec) => {
    return function (this: unknown, ...args: unknown[]) {
      const statement = String(args[0]);
      if (WRITES.test(statement) && failing.object?.(statement)) fail(OBJECT_ERROR);
      return exec.apply(this, args);
    };
  });
  for (const name of ["run", "all", "raw", "first"]) wrap(env.DB.prepare("SELECT 1"), name, wrapD1Call);
  wrap(env.DB, "batch", wrapD1Call);
}

function wrapD1Call(call: Method): Method {
  return async function (this: unknown, ...args: unknown[]) {
    if (reliable.getStore()) return call.apply(this, args);
    const prepared = Array.isArray(args[0]) ? (args[0] as Prepared[]) : [this as Prepared];
    const statements = prepared.map(({ statement }) => statement).join("; ");
    if (failing.d1?.(statements)) fail(D1_ERROR);
    const answer = await call.apply(this, args);
    if (failing.d1Answer?.(statements)) fail(D1_ERROR);
    return answer;
  };
}

/** What a prepared statement of the runtime's D1 client holds. */
interface Prepared {
  statement: string;
}

/** Replaces a method of the prototype, once for each method. */
function wrap(instance: object, name: string, make: (original: Method) => Method): void {
  const prototype = Object.getPrototypeOf(instance) as object;
  const original = Reflect.get(prototype, name) as Method;
  if (installed.has(original)) return;
  const replaced = make(original);
  installed.add(replaced);
  Reflect.defineProperty(prototype, name, { value: replaced, writable: true, configurable: true });
}
