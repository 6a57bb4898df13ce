/** Where a deployment's Durable Objects live. */

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
