/** Counts requests to the outside: fetch, R2, queues and other Durable Objects. D1 has a file of its own. */
import { countSubrequest, current } from "./invocation.ts";
import { patch, prototypeOf } from "./patch.ts";

/** Makes every binding of these kinds, and `fetch`, count. */
export function guardOutside(env: Env): void {
  countCalls(globalThis, ["fetch"]);
  const bucket = prototypeOf(env.BLOBS);
  countCalls(bucket, ["head", "get", "put", "delete", "list"]);
  const counted = (upload: unknown) => {
    countCalls(prototypeOf(upload), ["uploadPart", "complete", "abort"]);
    return upload;
  };
  patch(bucket, "createMultipartUpload", (create) => {
    return async function (this: unknown, ...args: unknown[]) {
      countSubrequest();
      return counted(await create.apply(this, args));
    };
  });
  patch(bucket, "resumeMultipartUpload", (resume) => {
    return function (this: unknown, ...args: unknown[]) {
      return counted(resume.apply(this, args));
    };
  });
  countCalls(prototypeOf(env.EXPORTS), ["send", "sendBatch"]);
  for (const name of ["get", "getByName"]) {
    patch(prototypeOf(env.THREAD), name, (get) => {
      return function (this: unknown, ...args: unknown[]) {
        const stub = get.apply(this, args) as object;
        // A test's own stubs stay what they are: the helpers of `cloudflare:test` take no other.
        return current() ? counting(stub) : stub;
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
function counting(stub: object): object {
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
