ALTER TABLE `webhooks` ADD `last_cause` text;
--> statement-breakpoint
ALTER TABLE `webhooks` ADD `last_failed_at` integer;
--> statement-breakpoint
ALTER TABLE `webhooks` ADD `last_seq` integer;
--> statement-breakpoint
ALTER TABLE `webhooks` ADD `health_since` integer;
--> statement-breakpoint
UPDATE `webhooks` SET
	`last_cause` = CASE
		WHEN `last_status` IS NOT NULL THEN 'status'
		WHEN `last_error` LIKE 'no answer%' THEN 'no_answer'
		WHEN `last_error` = 'no connection' THEN 'no_connection'
	END,
	`last_error` = NULL
WHERE `last_status` IS NOT NULL OR `last_error` IS NOT NULL;