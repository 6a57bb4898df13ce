import { useLocation } from "wouter";
import { Back, Page } from "../../resources/Page.tsx";
import { QueueForm } from "./form.tsx";

export function New() {
  const [, navigate] = useLocation();
  return (
    <Page
      title="New queue"
      purpose="What reviewers score, and how many of them."
      back={<Back href="/console/queues" name="Annotation queues" />}
    >
      <QueueForm onSaved={(id) => navigate(`/console/queues/${id}`)} onCancel={() => navigate("/console/queues")} />
    </Page>
  );
}
