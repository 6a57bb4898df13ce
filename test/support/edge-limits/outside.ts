/** Counts requests to the outside: fetch, R2, queues and other Durable Objects. D1 has a file of its own. */
import { countSubrequest, getInvocation } from "./invocation.ts";
import { patch, getPrototype } from "./patch.ts";

/** Makes every binding of these kinds, and `fetch`, count. */
export function guardOutside(env: Env): void {
  countCalls(globalThis, ["fetch"]);
  const bucket = getPrototype(env.BLOBS);
  countCalls(bucket, ["head", "get", "put", "delete", "list"]);
  const countUpload = (upload: unknown) => {
    countCalls(getPrototype(upload), ["uploadPart", "complete", "abort"]);
    return upload;
  };
  patch(bucket, "createMultipartUpload", (create) => {
    return async function (this: unknown, ...args: unknown[]) {
      countSubrequest();
      return countUpload(await create.apply(this, args));
    };
  });
  patch(bucket, "resumeMultipartUpload", (resume) => {
    return function (this: unknown, ...args: unknown[]) {
      return countUpload(resume.apply(this, args));
    };
  });
  countCalls(getPrototype(env.EXPORTS), ["send", "sendBatch"]);
  for (const name of ["get", "getByName"]) {
    patch(getPrototype(env.THREAD), name, (get) => {
      return function (this: unknown, ...args: unknown[]) {
        const stub = get.apply(this, args) as object;
        // A test's own stubs stay what they are: the helpers of `cloudflare:test` take no other.
        return getInvocation() ? countStub(stub) : stub;
      };
    });
  }
}

function countCalls(owner: object, names: string[]): void {
  for (const name of names) {
    patch(owner, name, (method) => {
      return async function (this: unknown, ...args: unknown[]) {
        countSubrequest();
        return method.apply(this, args);
      };
    });
  }
}

/** The stub, with every call counted. */
function countStub(stub: object): object {
  return new Proxy(stub, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        countSubrequest();
        return Reflect.apply(member, target, args) as unknown;
      };
    },
  });
}
