import { Modal } from "../../ui/Modal.tsx";
import { Payload } from "../../ui/Payload.tsx";
import { Facts } from "../../resources/Fields.tsx";
import css from "../../resources/parts.module.css";
import { Time } from "../../ui/Time.tsx";
import { actionText, actorText, targetText } from "./actions.ts";
import type { Entry } from "./queries.ts";

export function EntryDetails({
  entry,
  keys,
  onClose,
}: {
  entry: Entry;
  keys: Map<string, string>;
  onClose: () => void;
}) {
  const { at, actor, action, target_id, detail, address, user_agent } = entry;
  const target = targetText(entry, keys);
  return (
    <Modal title={actionText(action)} onClose={onClose}>
      <Facts
        facts={{
          When: <Time at={at} exact />,
          Who: actorText(actor, keys),
          Credential: actor.id !== "" && <span className={css.mono}>{actor.id}</span>,
          Target: target !== target_id && target,
          "Target id": <span className={css.mono}>{target_id}</span>,
          "IP address": address !== null && <span className={css.mono}>{address}</span>,
          "User agent": user_agent,
          Action: <span className={css.mono}>{action}</span>,
        }}
      />
      {Object.keys(detail).length > 0 && <Payload label="Detail" text={JSON.stringify(detail, null, 2)} />}
    </Modal>
  );
}
