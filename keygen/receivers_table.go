package keygen

// Sets of characters that receivers name.
const (
	ascii        = " -~"
	visibleASCII = "!-~"
	uuidDigits   = "0-9a-f-"
)

// Receivers returns the table of receivers whose rules are known. The rules are
// the receivers' own, as they document them; where several receivers or several
// of a receiver's calls share a row, it has the strictest rule of them all. The
// table is the caller's to change.
func Receivers() []Receiver {
	nativeOrUUID := func() []Format { return []Format{FormatNative, FormatUUID} }
	return []Receiver{
		{ID: "ietf", Name: "IETF draft",
			Min: 1, Characters: ascii, Formats: []Format{FormatHeader},
			Note: "a structured-field string (RFC 8941 section 3.3.3), its quotes included"},
		{ID: "aws-secretsmanager", Name: "AWS Secrets Manager ClientRequestToken",
			Min: 32, Max: 64, Formats: nativeOrUUID()},
		{ID: "aws-ecs-create", Name: "AWS ECS CreateService, CreateTaskSet",
			Min: 1, Max: 36, Characters: visibleASCII, Formats: []Format{FormatUUID}},
		{ID: "aws-client-token", Name: "AWS ECS RunTask / EC2 / NAT / Config",
			Min: 1, Max: 64, Characters: visibleASCII, Formats: nativeOrUUID()},
		{ID: "aws-launch-template", Name: "AWS launch template, M2",
			Min: 1, Max: 128, Characters: visibleASCII, Formats: []Format{FormatNative}},
		{ID: "aws-supplychain", Name: "AWS Supply Chain",
			Min: 33, Max: 128, Characters: ascii, Formats: []Format{FormatNative}},
		{ID: "aws-fsx", Name: "AWS FSx",
			Min: 1, Max: 63, Characters: ascii, Formats: nativeOrUUID()},
		{ID: "aws-dynamodb", Name: "AWS DynamoDB TransactWriteItems",
			Min: 1, Max: 36, Formats: []Format{FormatUUID}},
		{ID: "google-aip155", Name: "Google AIP-155",
			Min: 1, Max: 36, Characters: ascii, Formats: []Format{FormatUUID4},
			Note: "some APIs take UUIDs only, some UUIDs of version 4 only"},
		{ID: "mastercard", Name: "Mastercard ICCP",
			Min: 36, Max: 36, Characters: uuidDigits, Formats: []Format{FormatUUID4},
			Note: "a valid UUID of version 4"},
		{ID: "iceberg", Name: "Iceberg REST / Gravitino",
			Min: 36, Max: 36, Characters: uuidDigits, Formats: []Format{FormatUUID7},
			Note: "a UUID; Gravitino insists on version 7"},
		{ID: "azure", Name: "Azure Repeatability-Request-ID",
			Min: 36, Max: 36, Characters: uuidDigits, Formats: []Format{FormatUUID},
			Note: "a GUID; opaque by the OASIS standard"},
		{ID: "fiber", Name: "Fiber default",
			Min: 36, Max: 36, Formats: []Format{FormatUUID}},
		{ID: "worldline", Name: "Worldline",
			Min: 1, Max: 40, Characters: ascii, Formats: []Format{FormatUUID}},
		{ID: "square", Name: "Square",
			Min: 1, Max: 45, Formats: []Format{FormatUUID},
			Note: "45 for payments; 64 for Terminal, 128 and more for others"},
		{ID: "helcim", Name: "Helcim",
			Min: 25, Max: 36, Characters: uuidDigits, Formats: []Format{FormatUUID},
			Note: "25 characters or a UUID"},
		{ID: "adyen", Name: "Adyen, Enfuce, Squarespace",
			Min: 1, Max: 64, Characters: "A-Za-z0-9_-", Formats: nativeOrUUID()},
		{ID: "paypal", Name: "PayPal",
			Min: 1, Max: 78, Formats: nativeOrUUID(),
			Note: "78 for payments v1; 108 for orders v2, 1000 for payouts"},
		{ID: "google-pay", Name: "Google Pay carrier",
			Min: 1, Max: 100, Characters: "A-Za-z0-9:_-", Formats: nativeOrUUID(),
			Note: "the request's timestamp must be within 60 s"},
		{ID: "sqs", Name: "SNS/SQS FIFO",
			Min: 1, Max: 100, Characters: visibleASCII, Formats: nativeOrUUID(),
			Note: "100 for EventBridge Pipes, 128 for the queues themselves"},
		{ID: "stripe", Name: "Stripe, Plaid, Nium, GrailPay, Whop, Solidgate, SPS",
			Min: 20, Max: 128, Characters: "a-z0-9-", Formats: nativeOrUUID(),
			Note: "128 for Plaid, 255 for the others; only SPS leaves out '_'"},
	}
}
