/** One application: where it returns to, and each grant that a person gave it. */
import { useState } from "react";
import { Button } from "../../ui/Button.tsx";
import { Confirm } from "../../resources/Confirm.tsx";
import { Modal } from "../../ui/Modal.tsx";
import { Fields } from "../../resources/Fields.tsx";
import { useApiKeys } from "../keys/queries.ts";
import css from "../../resources/parts.module.css";
import { Loaded } from "../../resources/states.tsx";
import { Time } from "../../ui/Time.tsx";
import own from "./oauth.module.css";
import { type Client, type Grant, removeClient, revokeGrant, useGrants } from "./queries.ts";
import { clientName } from "./labels.ts";

export function ClientDetails({ client, onClose }: { client: Client; onClose: () => void }) {
  const [ending, setEnding] = useState<Grant | "all">();
  const grants = useGrants();
  const name = clientName(client);
  const count = client.grants === 1 ? "Its grant ends" : `All ${client.grants} grants end`;
  if (ending !== undefined)
    return (
      <Confirm
        title={ending === "all" ? `Remove the access of “${name}”?` : `Revoke this grant of “${name}”?`}
        text={`${ending === "all" ? count : "It ends"} at once, with every token of it. A person can allow the application again.`}
        act={ending === "all" ? "Remove access" : "Revoke grant"}
        needs="keys.manage"
        onAct={() => (ending === "all" ? removeClient(client.client_id) : revokeGrant(ending.id))}
        onClose={() => (ending === "all" || client.grants === 1 ? onClose() : setEnding(undefined))}
      />
    );
  return (
    <Modal title={name} onClose={onClose}>
      <Fields
        fields={{
          "Client ID": <span className={css.mono}>{client.client_id}</span>,
          Website: client.client_uri,
          "Registered by":
            client.registered_by === "document" ? "the document at its client ID" : "the application itself",
          "Returns to": (
            <ul>
              {client.redirect_uris.map((uri) => (
                <li key={uri} className={css.mono}>
                  {uri}
                </li>
              ))}
            </ul>
          ),
          "Registered on": <Time at={client.created_at} exact />,
        }}
      />
      <h3 className={own.grants}>Grants</h3>
      <Loaded query={grants} what="grants" rows={2}>
        {(all) => (
          <ul className={own.list}>
            {all
              .filter(({ client_id }) => client_id === client.client_id)
              .map((grant) => (
                <GrantRow key={grant.id} grant={grant} onRevoke={() => setEnding(grant)} />
              ))}
          </ul>
        )}
      </Loaded>
      <div className={css.acts}>
        <Button look="danger" onClick={() => setEnding("all")}>
          Remove access…
        </Button>
      </div>
    </Modal>
  );
}

function GrantRow({ grant, onRevoke }: { grant: Grant; onRevoke: () => void }) {
  const keys = useApiKeys();
  const { granted_by } = grant;
  const key = keys.data?.find(({ id }) => id === granted_by);
  return (
    <li>
      <div>
        <p>
          {grant.scopes.join(", ")} {grant.resource !== null && <>below {grant.resource}</>}
        </p>
        <p className={css.aside}>
          Allowed with {key ? `the key “${key.name}”` : granted_by}, <Time at={grant.created_at} exact />
        </p>
      </div>
      <Button look="quiet" onClick={onRevoke}>
        Revoke…
      </Button>
    </li>
  );
}
