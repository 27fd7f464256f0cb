package recognize

import (
	"bytes"

	"logstow/record"
)

// Severity is what the word before the message of PostgreSQL says, in the language of the server.
type Severity uint8

// The meanings of a word before the message of PostgreSQL.
const (
	// NoSeverity is another word.
	NoSeverity Severity = iota
	// Leveled begins a message: its level is that of [PostgresLevel].
	Leveled
	// Continued is of a further line of the message before: DETAIL, HINT, STATEMENT, CONTEXT, QUERY or LOCATION.
	Continued
)

// PostgresWord returns the meaning of the word that ends where two blanks follow a colon, "ERROR:  text", in English, German, French,
// Spanish, Italian, Portuguese, Russian, Japanese or Chinese, and the level of a message.
func PostgresWord(word []byte) (Severity, record.Level) {
	switch string(word) {
	case "LOG", "INFO", "NOTICE", "СООБЩЕНИЕ", "ИНФОРМАЦИЯ", "ЗАМЕЧАНИЕ", "HINWEIS", "NOTA", "NOTIFICA", "ログ", "情報", "注意", "日志", "信息":
		return Leveled, record.Info
	case "WARNING", "WARNUNG", "ATTENTION", "AVERTISSEMENT", "ADVERTENCIA", "ATTENZIONE", "AVISO", "ПРЕДУПРЕЖДЕНИЕ", "警告":
		return Leveled, record.Warn
	case "ERROR", "FEHLER", "ERREUR", "ERRORE", "ERRO", "ОШИБКА", "エラー", "错误":
		return Leveled, record.Error
	case "FATAL", "PANIC", "PANIK", "ВАЖНО", "ПАНИКА", "FATALE", "致命的エラー", "致命错误":
		return Leveled, record.Fatal
	case "DEBUG", "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5", "ОТЛАДКА":
		return Leveled, record.Debug
	case "DETAIL", "HINT", "STATEMENT", "CONTEXT", "QUERY", "LOCATION",
		"TIPP", "ANWEISUNG", "ZUSAMMENHANG", "ANFRAGE", "ORT",
		"DÉTAIL", "DÉTAILS", "ASTUCE", "INSTRUCTION", "CONTEXTE", "REQUÊTE", "EMPLACEMENT",
		"DETALLE", "SUGERENCIA", "SENTENCIA", "CONTEXTO", "CONSULTA", "UBICACIÓN",
		"DETTAGLI", "DETTAGLIO", "SUGGERIMENTO", "ISTRUZIONE", "CONTESTO", "POSIZIONE",
		"DETALHE", "DICA", "COMANDO", "LOCAL", //nolint:misspell // Portuguese
		"ПОДРОБНОСТИ", "ПОДСКАЗКА", "ОПЕРАТОР", "КОНТЕКСТ", "ЗАПРОС", "ПОЛОЖЕНИЕ",
		"詳細", "ヒント", "文", "文脈", "详细信息", "描述", "提示", "语句", "上下文", "查询":
		return Continued, record.None
	}
	return NoSeverity, record.None
}

// postgresSeverity returns the level of the word before the first colon that two blanks follow.
func postgresSeverity(b []byte) record.Level {
	end := bytes.Index(b, []byte(":  "))
	if end <= 0 {
		return record.None
	}
	start := end
	for start > 0 && (b[start-1]-'A' < 26 || b[start-1]-'0' <= 9 || b[start-1] >= 0x80) {
		start--
	}
	_, level := PostgresWord(b[start:end])
	return level
}
