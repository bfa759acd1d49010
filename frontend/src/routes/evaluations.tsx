import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { EvaluationList } from "@/features/evaluations/EvaluationList";
import { EvaluationPage } from "@/features/evaluations/EvaluationPage";
import { NewEvaluation } from "@/features/evaluations/NewEvaluation";

const one = getRouteApi("/signed-in/evaluations/$id");
const fresh = getRouteApi("/signed-in/evaluations/new");

export function EvaluationsRoute() {
  return <EvaluationList />;
}

export function NewEvaluationRoute() {
  const start = fresh.useSearch();
  const navigate = useNavigate();
  return (
    <NewEvaluation
      start={start}
      onStarted={(id) => void navigate({ to: "/evaluations/$id", params: { id } })}
    />
  );
}

export function EvaluationRoute() {
  const { id } = one.useParams();
  const place = one.useSearch();
  const navigate = useNavigate();
  return (
    <EvaluationPage
      key={id}
      id={id}
      place={place}
      onPlace={(search) =>
        void navigate({ to: "/evaluations/$id", params: { id }, search, replace: true, resetScroll: false })
      }
    />
  );
}
