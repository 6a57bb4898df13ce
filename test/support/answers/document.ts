/** What /openapi.json says of an answer. Objects are closed, so that a member that it does not name is a fault. */
import Ajv2020, { type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

type Content = Record<string, { schema: object }>;
interface Described {
  $ref?: string;
  content?: Content;
}
interface Operation {
  responses: Record<string, Described>;
}
export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Described>; schemas: Record<string, object> };
}

interface Route {
  path: string;
  pattern: RegExp;
  operations: Record<string, Operation>;
}

export interface Answer {
  method: string;
  path: string;
  status: number;
  /** The media type, without parameters. */
  type: string;
}

export class Document {
  readonly #ajv = addFormats(new Ajv2020({ strict: false }));
  readonly #routes: Route[];
  readonly #compiled = new WeakMap<object, ValidateFunction>();

  constructor(private readonly openapi: OpenApi) {
    this.#ajv.addSchema({ $id: "openapi", components: closeSchema(openapi.components) });
    const routes = Object.entries(openapi.paths).map(([path, operations]) => ({
      path,
      operations,
      pattern: new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll(/\{\w+\}/g, "[^/]+")}/?$`),
    }));
    // A path of words before one of parameters, as the router chooses.
    this.#routes = routes.toSorted((a, b) => parameters(a.path) - parameters(b.path));
  }

  /** What is wrong with the status and media type; undefined for nothing, and for a route that is not in the document. */
  findHeadFault(answer: Answer): string | undefined {
    const described = this.#findDescribed(answer);
    if (described === undefined) return undefined;
    if (described === null) return "the status is not in the document";
    const types = Object.keys(described.content ?? {});
    if (types.length === 0 || answer.type === "" || types.includes(answer.type)) return undefined;
    return `the media type ${answer.type} is not in the document`;
  }

  /** What is wrong with a body of JSON. */
  findBodyFault(answer: Answer, body: unknown): string | undefined {
    const schema = this.#findDescribed(answer)?.content?.[answer.type]?.schema;
    if (!schema) return undefined;
    const validate = this.#compiled.get(schema) ?? this.#ajv.compile(closeSchema(schema));
    this.#compiled.set(schema, validate);
    if (validate(body)) return undefined;
    return `${this.#ajv.errorsText(validate.errors?.slice(0, 8))} in ${JSON.stringify(body).slice(0, 600)}`;
  }

  /** Undefined for an unknown route, and null for a status that it does not have. */
  #findDescribed({ method, path, status }: Answer): Described | null | undefined {
    const verb = method.toLowerCase();
    const route = this.#routes.find(({ pattern, operations }) => pattern.test(path) && verb in operations);
    const responses = route?.operations[verb]?.responses;
    if (!responses) return undefined;
    const rest = status >= 400 ? responses.default : null;
    const found = responses[String(status)] ?? responses[`${Math.floor(status / 100)}XX`] ?? rest;
    return found?.$ref ? this.openapi.components.responses[found.$ref.split("/").at(-1) ?? ""] : found;
  }
}

const parameters = (path: string) => path.split("{").length;

/** The schema with references into the document, and without members that no object schema names. */
function closeSchema(schema: unknown): object {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).map(([key, member]) =>
      key === "$ref" && typeof member === "string" ? [key, `openapi${member}`] : [key, copy(member)],
    );
    const made = Object.fromEntries(members) as Record<string, unknown>;
    if (made.type === "object" && made.properties !== undefined) made.additionalProperties ??= false;
    return made;
  };
  return copy(schema) as object;
}
