import { Button } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useEffect } from "react";
import { isFinal, type JobDetail } from "@/api/jobs";
import { toastDone, toastFailed } from "@/lib/toast";

const KEY = "reinforge-notify";
const NO_JOBS: string[] = [];

/** Browser notification at the end of a job that is open in a tab; permission is requested by the click only. */
export function NotifyMe({ job }: { job: JobDetail }) {
  const [jobs, setJobs] = useLocalStorage({ key: KEY, defaultValue: NO_JOBS });
  const watched = jobs.includes(job.id);
  const ended = isFinal(job.status);

  useEffect(() => {
    if (!watched || !ended) return;
    setJobs((old) => old.filter((id) => id !== job.id));
    if (typeof Notification === "undefined" || Notification.permission !== "granted") return;
    const message = new Notification(`${job.name}: ${job.status}`, {
      body: job.verdict_detail?.message ?? job.error?.message ?? "",
      tag: job.id,
      icon: "/favicon.svg",
    });
    message.onclick = () => window.focus();
  }, [watched, ended, job, setJobs]);

  if (ended || typeof Notification === "undefined") return null;
  const toggle = async () => {
    if (watched) {
      setJobs((old) => old.filter((id) => id !== job.id));
      return;
    }
    if ((await Notification.requestPermission()) !== "granted") {
      const hint = "Allow notifications of this site in the browser's settings, or use e-mail or a webhook.";
      toastFailed("The browser does not allow notifications", new Error(hint));
      return;
    }
    setJobs((old) => [...old, job.id]);
    toastDone("You will be notified when the job ends. Keep this tab open.");
  };
  return (
    <Button
      variant="default"
      aria-pressed={watched}
      title="Shows a browser notification when the job ends, if this tab is still open."
      onClick={() => void toggle()}
    >
      {watched ? "Notifying you" : "Notify me"}
    </Button>
  );
}
