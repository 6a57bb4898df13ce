import { useState } from "react";
import { useAction } from "../../api/me.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Form, Select } from "../../resources/Form.tsx";
import { rotate } from "./queries.ts";

const OVERLAPS = [
  { seconds: 0, name: "End at once" },
  { seconds: 3_600, name: "Sign for another hour" },
  { seconds: 86_400, name: "Sign for another day" },
  { seconds: 604_800, name: "Sign for another week" },
];

/** Makes a signing secret, the first one or one that follows others. */
export function Rotate({
  others,
  onMade,
  onClose,
}: {
  /** How many secrets sign now. */
  others: number;
  onMade: (secret: string) => void;
  onClose: () => void;
}) {
  const action = useAction("webhooks.manage");
  const [seconds, setSeconds] = useState(86_400);
  const first = others === 0;
  return (
    <Modal
      title={first ? "Create a signing secret" : "Rotate the signing secret"}
      text={
        first
          ? "Every delivery of this workspace is signed with it from now on. It is shown once."
          : "Deliveries carry a signature of each secret, so a receiver can change to the new one while the old ones sign."
      }
      onClose={onClose}
    >
      <Form
        action={action}
        submit="Create secret"
        onSubmit={async () => onMade((await rotate(first ? 0 : seconds)).secret)}
        onCancel={onClose}
      >
        {!first && (
          <Select label="Earlier secrets" value={seconds} onChange={(event) => setSeconds(Number(event.target.value))}>
            {OVERLAPS.map((one) => (
              <option key={one.seconds} value={one.seconds}>
                {one.name}
              </option>
            ))}
          </Select>
        )}
      </Form>
    </Modal>
  );
}
