/** An export of one of the project's modules, loaded by the first call that needs it. */
import { logError } from "./lib/log.ts";
import { Problem } from "./lib/problem.ts";

type Module = Record<string, unknown>;

/**
 * Loading inside a request allows the module what the platform forbids at startup: top-level await, timers, random values.
 * A module that throws fails the calls that need it, and no others.
 */
export class Lazy<T> {
  /** Of what this isolate has loaded. */
  static readonly specs = new Set<string>();
  readonly spec: string;
  readonly #load: () => Promise<Module>;
  /** Not its promise: what one request waits for, another must not. */
  #module: Module | undefined;
  #value: { value: T } | undefined;
  #failure: string | undefined;

  /** `spec` is `<file>:<export>` as langgraph.json has it; `load` imports the file. */
  constructor(spec: string, load: () => Promise<Module>) {
    this.spec = spec;
    this.#load = load;
  }

  /** The export. Throws a Problem with `status` that names the file when the module throws or has no such export. */
  async get(status: 500 | 503 = 500): Promise<T> {
    if (this.#failure !== undefined) throw new Problem(status, this.#failure);
    this.#value ??= { value: (await this.#loaded(status)) as T };
    Lazy.specs.add(this.spec);
    return this.#value.value;
  }

  /** Another export of the same module; undefined when it has none of this name, or cannot be loaded. */
  async sibling(name: string): Promise<unknown> {
    this.#module ??= await this.#load().catch((): Module => ({}));
    return this.#module[name];
  }

  async #loaded(status: 500 | 503): Promise<unknown> {
    const at = this.spec.lastIndexOf(":");
    const [file, name] = at < 0 ? [this.spec, "default"] : [this.spec.slice(0, at), this.spec.slice(at + 1)];
    let module: Module;
    try {
      module = this.#module = await this.#load();
    } catch (error) {
      logError(error, { while: `loading ${file}` });
      throw this.#failed(status, `${file} cannot be loaded. ${String(error)}`);
    }
    const exported = name in module ? module[name] : (module.default as Module | undefined)?.[name];
    if (exported !== undefined) return exported;
    const names = Object.keys(module).join(", ") || "nothing";
    throw this.#failed(status, `${file} has no export "${name}". It exports: ${names}.`);
  }

  /** A module is evaluated once, so its failure remains until the Worker is built again. */
  #failed(status: 500 | 503, detail: string): Problem {
    this.#failure = detail;
    return new Problem(status, detail);
  }
}

/** The value itself, or what the module exports. */
export const loaded = async <T>(value: T | Lazy<T>, status?: 500 | 503): Promise<T> =>
  value instanceof Lazy ? value.get(status) : value;
