ALTER TABLE `deliveries` ADD `last_attempt_at` integer;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `duration_ms` integer;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `disabled_at` integer;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `last_status` integer;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `last_error` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `failing_told_at` integer;