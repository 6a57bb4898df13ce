/** One member: the role, the browsers in which the person is signed in, and the end. */
import { useState } from "react";
import { useMe, useAction } from "../../api/me.ts";
import { Loaded } from "../../resources/states.tsx";
import { Time } from "../../ui/Time.tsx";
import { Button } from "../../ui/Button.tsx";
import { Confirm } from "../../resources/Confirm.tsx";
import { Modal } from "../../ui/Modal.tsx";
import { Fields } from "../../resources/Fields.tsx";
import { Form } from "../../resources/Form.tsx";
import css from "../../resources/parts.module.css";
import { RoleSelect } from "../../resources/RoleSelect.tsx";
import {
  type BrowserSession,
  changeRole,
  endSession,
  type Member,
  memberName,
  removeMember,
  useSessions,
} from "./queries.ts";

export function MemberDetails({ member, onClose }: { member: Member; onClose: () => void }) {
  const action = useAction("members.manage");
  const sessions = useSessions(member.id);
  const { data: me } = useMe();
  const [role, setRole] = useState(member.role);
  const [removing, setRemoving] = useState(false);
  const name = memberName(member);
  if (removing)
    return (
      <Confirm
        title={`Remove “${name}”?`}
        text={
          <>
            Every browser of the person is signed out at once, and applications lose what the person allowed. API keys
            that the person made stay.
            {me?.member?.id === member.id && " You remove yourself: you are signed out."}
          </>
        }
        act="Remove member"
        needs="members.manage"
        onAct={() => removeMember(member.id)}
        onClose={onClose}
      />
    );
  return (
    <Modal title={name} onClose={onClose}>
      <Fields
        fields={{
          Subject: <span className={css.mono}>{member.subject}</span>,
          Provider: member.issuer,
          "Last sign-in": member.signed_in_at === null ? "not yet" : <Time at={member.signed_in_at} exact />,
          Member: <Time at={member.created_at} exact />,
          Id: <span className={css.mono}>{member.id}</span>,
        }}
      />
      <Form
        action={action}
        submit="Save role"
        onSubmit={async () => {
          await changeRole(member.id, role);
          onClose();
        }}
        onCancel={onClose}
      >
        <RoleSelect value={role} onChange={setRole} />
      </Form>
      <h3>Signed in on</h3>
      <Loaded query={sessions} what="sessions" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={css.note}>No browser.</p>
          ) : (
            <ul>
              {rows.map((session) => (
                <Session key={session.id} session={session} memberId={member.id} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <div className={css.acts}>
        <Button look="danger" onClick={() => setRemoving(true)}>
          Remove member…
        </Button>
      </div>
    </Modal>
  );
}

function Session({ session, memberId }: { session: BrowserSession; memberId: string }) {
  const action = useAction("members.manage");
  return (
    <li>
      {session.user_agent ?? "An unknown browser"}, {session.address ?? "unknown address"},{" "}
      <Time at={session.last_used_at} />{" "}
      <Button
        look="quiet"
        disabled={action.busy}
        onClick={() => void action.run(() => endSession(memberId, session.id))}
      >
        Sign out
      </Button>
      {action.trouble !== "" && <span role="alert">{action.trouble}</span>}
    </li>
  );
}
