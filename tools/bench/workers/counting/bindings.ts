/** The Worker's environment with calls of Durable Objects, R2 and queues counted where they are made. */
import { count, type ObjectClass } from "./counts.ts";
import { countQueries } from "./storage.ts";

/** An object whose methods are called through `call`; everything else is the target's own. */
function wrapMethods<T extends object>(
  target: T,
  call: (name: string, run: (args: unknown[]) => unknown, args: unknown[]) => unknown,
): T {
  return new Proxy(target, {
    get(_target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function" || typeof name !== "string") return value;
      return (...args: unknown[]) => call(name, (given) => Reflect.apply(value, target, given), args);
    },
  });
}

/** A namespace whose stubs count. One call of a stub is one request that is billed. */
function objects<T extends Rpc.DurableObjectBranded | undefined>(
  namespace: DurableObjectNamespace<T>,
  of: ObjectClass,
) {
  return wrapMethods(namespace, (name, run, args) => {
    const made = run(args);
    if (name !== "get" && name !== "getByName") return made;
    return wrapMethods(made as DurableObjectStub, (_name, call, given) => {
      count(`calls: ${of}`);
      count("subrequests");
      return call(given);
    });
  });
}

const CLASS_A = new Set(["put", "list", "createMultipartUpload", "uploadPart", "complete"]);
const CLASS_B = new Set(["get", "head"]);

function bucket(target: R2Bucket): R2Bucket {
  const countCalls = <T extends object>(object: T): T =>
    wrapMethods(object, (name, run, args) => {
      if (CLASS_A.has(name)) count("R2 class A");
      if (CLASS_B.has(name)) count("R2 class B");
      if (name !== "resumeMultipartUpload") count("subrequests");
      const result = run(args);
      if (name === "resumeMultipartUpload") return countCalls(result as R2MultipartUpload);
      if (name === "createMultipartUpload") return (result as Promise<R2MultipartUpload>).then(countCalls);
      return result;
    });
  return countCalls(target);
}

/** A message is written, read and deleted: three operations. */
const OPERATIONS = 3;

function queue(target: Queue): Queue {
  return wrapMethods(target, (name, run, args) => {
    count("subrequests");
    count("queue operations", OPERATIONS * (name === "sendBatch" ? [...(args[0] as Iterable<unknown>)].length : 1));
    return run(args);
  });
}

const counting = new WeakMap<object, Env>();

/** The environment to hand on instead of this one. */
export function countBindings(env: Env): Env {
  const known = counting.get(env);
  if (known) return known;
  countQueries(env.DB);
  const made: Env = {
    ...env,
    THREAD: objects(env.THREAD, "Thread"),
    LEDGER: objects(env.LEDGER, "Ledger"),
    LIMITER: objects(env.LIMITER, "Limiter"),
    THREAD_INDEX: objects(env.THREAD_INDEX, "ThreadIndex"),
    TRACE_INDEX: objects(env.TRACE_INDEX, "TraceIndex"),
    TRACE_PARTITION: objects(env.TRACE_PARTITION, "TracePartition"),
    BLOBS: bucket(env.BLOBS),
    EXPORTS_BUCKET: bucket(env.EXPORTS_BUCKET),
    EXPORTS: queue(env.EXPORTS),
    CRON_QUEUE: queue(env.CRON_QUEUE),
    RULES: queue(env.RULES),
  };
  counting.set(env, made);
  return made;
}
