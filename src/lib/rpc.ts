/**
 * Calls of Durable Objects, whose expected errors are answers. A method that throws counts as an exception of the object in
 * the platform's logs and metrics, also when it only says that there is no such thread. So each call goes to the object's
 * method `answer`, which gives such an error as a value, and the caller's side throws it again.
 */
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { fromCloneable, toCloneable } from "./json.ts";
import { remoteProblem } from "./problem.ts";

/** An object whose methods are called through one. */
export interface RpcTarget {
  /** `keys`: those of the workspace, as the caller has read them (access/encryption/keys.ts). Left out for an object that needs none. */
  dispatch(method: string, args: unknown[], keys?: unknown): Promise<unknown>;
}

/** An expected error as a value. No method gives an object with this member. */
interface RpcRefusal {
  $problem: { status: ContentfulStatusCode; detail: string };
}

/** A value that a structured clone would change, as it is cloned. No method takes or gives an object with this member. */
interface Cloned {
  $cloned: unknown;
}

function toWire(value: unknown): unknown {
  const cloneable = toCloneable(value);
  return cloneable === value ? value : ({ $cloned: cloneable } satisfies Cloned);
}

const fromWire = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "$cloned" in value ? fromCloneable(value.$cloned) : value;

type Method = (...args: unknown[]) => Promise<unknown>;

/** What an object's `answer` does: calls its method. A `remoteProblem` with a status below 500 becomes a value. */
export async function dispatchRpc(object: object, method: string, args: unknown[]): Promise<unknown> {
  try {
    return toWire(await Reflect.apply(Reflect.get(object, method) as Method, object, args.map(fromWire)));
  } catch (error) {
    const [, status, detail = ""] =
      /^Problem:(4\d\d):([\s\S]*)$/.exec(error instanceof Error ? error.message : "") ?? [];
    if (status === undefined) throw error;
    return { $problem: { status: Number(status) as ContentfulStatusCode, detail } } satisfies RpcRefusal;
  }
}

/**
 * The calls of the object behind a stub: they throw what its methods throw. `Calls` is the type of the object's RPC. `readKeys` reads
 * what each call tells the object of its workspace's keys.
 */
export function rpcProxy<Calls extends object>(
  stub: RpcTarget & Partial<Calls>,
  readKeys?: () => Promise<unknown>,
): Calls {
  const call = async (method: string, given: unknown[]) => {
    const args = given.map(toWire);
    const value = await (readKeys ? stub.dispatch(method, args, await readKeys()) : stub.dispatch(method, args));
    if (isRefusal(value)) throw remoteProblem(value.$problem.status, value.$problem.detail);
    return fromWire(value);
  };
  return new Proxy({} as Calls, {
    // JavaScript treats an object with a `then` method as a promise.
    get: (_, method) =>
      method === "then" || typeof method === "symbol" ? undefined : (...args: unknown[]) => call(method, args),
  });
}

function isRefusal(value: unknown): value is RpcRefusal {
  return typeof value === "object" && value !== null && "$problem" in value;
}

// Where a deployment's Durable Objects live.

/** Of the bindings, what an object is found with: the same in each namespace. */
type Namespace<T extends Rpc.DurableObjectBranded | undefined> = Pick<
  DurableObjectNamespace<T>,
  "get" | "idFromName" | "jurisdiction"
>;

/**
 * The object of this name. Cloudflare creates an object near its first caller. `OBJECT_LOCATION` names another region for new
 * objects. `OBJECT_JURISDICTION` keeps all objects within a jurisdiction; the same name there is another object.
 * https://developers.cloudflare.com/durable-objects/reference/data-location/
 */
export function objectNamed<T extends Rpc.DurableObjectBranded | undefined>(
  { OBJECT_JURISDICTION, OBJECT_LOCATION }: Pick<Env, "OBJECT_JURISDICTION" | "OBJECT_LOCATION">,
  binding: Namespace<T>,
  name: string,
): DurableObjectStub<T> {
  const namespace = OBJECT_JURISDICTION ? binding.jurisdiction(OBJECT_JURISDICTION) : binding;
  return namespace.get(namespace.idFromName(name), OBJECT_LOCATION ? { locationHint: OBJECT_LOCATION } : undefined);
}
