/** One destination: where it is, whether it can be written to now, new credentials, and its end. */
import { useState } from "react";
import { useAction } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import { Confirm } from "../../resources/Confirm.tsx";
import { Modal } from "../../ui/Modal.tsx";
import { clockTime } from "../../ui/time.ts";
import { Fields } from "../../resources/Fields.tsx";
import { Form } from "../../resources/Form.tsx";
import css from "../../resources/parts.module.css";
import { State } from "../../resources/State.tsx";
import { Time } from "../../ui/Time.tsx";
import { storeText } from "./columns.tsx";
import { Credentials, EMPTY, sent } from "./CreateDestination.tsx";
import { formatLocation } from "./duckdb.ts";
import { changeCredentials, checkDestination, deleteDestination } from "./queries.ts";
import type { Destination } from "./types.ts";

export function DestinationDetails({ destination, onClose }: { destination: Destination; onClose: () => void }) {
  const [step, setStep] = useState<"facts" | "credentials" | "delete">("facts");
  const checking = useAction("exports.manage");
  const [checked, setChecked] = useState<string>();
  const { id, display_name, destination_type, credentials_keys, created_at, updated_at } = destination;
  if (step === "delete")
    return (
      <Confirm
        title={`Delete “${display_name}”?`}
        text="Its credentials are deleted. Files in the bucket stay. A destination that an open export or an active schedule uses is not deleted."
        act="Delete destination"
        needs="exports.manage"
        onAct={() => deleteDestination(id)}
        onClose={onClose}
      />
    );
  if (step === "credentials") return <NewCredentials destination={destination} onClose={() => setStep("facts")} />;
  return (
    <Modal title={display_name} onClose={onClose}>
      <Fields
        fields={{
          Place: <span className={css.mono}>{formatLocation(destination)}</span>,
          Store: storeText(destination),
          Region: destination.config.region,
          Credentials:
            destination_type === "r2"
              ? "none: the bucket is bound to the server"
              : `${credentials_keys.join(", ")} (set)`,
          Created: <Time at={created_at} exact />,
          "Credentials set": destination_type === "s3" && <Time at={updated_at} exact />,
          Id: <span className={css.mono}>{id}</span>,
        }}
      />
      <div role="status">
        {checked !== undefined && <State state="success" word={`Can be written to. Checked at ${checked}.`} />}
      </div>
      {checking.trouble !== "" && (
        <p className={css.trouble} role="alert">
          {checking.trouble}
        </p>
      )}
      <div className={css.acts}>
        <Button
          disabled={checking.busy}
          onClick={() =>
            void checking.run(async () => {
              setChecked(undefined);
              setChecked(clockTime((await checkDestination(id)).checked_at));
            })
          }
        >
          {checking.busy ? "Checking…" : "Check now"}
        </Button>
        {destination_type === "s3" && <Button onClick={() => setStep("credentials")}>Change credentials…</Button>}
        <Button look="danger" onClick={() => setStep("delete")}>
          Delete…
        </Button>
      </div>
    </Modal>
  );
}

function NewCredentials({ destination, onClose }: { destination: Destination; onClose: () => void }) {
  const action = useAction("exports.manage");
  const [keys, setKeys] = useState(EMPTY);
  const [tried, setTried] = useState(false);
  const missing = keys.id.trim() === "" || keys.secret === "";
  return (
    <Modal
      title={`New credentials for “${destination.display_name}”`}
      text="The credentials are checked before they are saved. A file that is being written uses the old ones, the next file the new ones."
      onClose={onClose}
    >
      <Form
        action={action}
        submit="Check and save"
        onSubmit={async () => {
          setTried(true);
          if (missing) return;
          await changeCredentials(destination.id, sent(keys));
          onClose();
        }}
        onCancel={onClose}
      >
        <Credentials keys={keys} error={tried && missing ? "Give both keys." : undefined} onKeys={setKeys} />
      </Form>
    </Modal>
  );
}
