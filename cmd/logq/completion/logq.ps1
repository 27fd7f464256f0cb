# Completion of logq for PowerShell: logq completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName logq -ScriptBlock {
	param($word, $line, $cursor)
	$words = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString() } | Select-Object -Skip 1)
	if ($word -like '-*') { $words += $word }
	$found = @(& logq @words --generate-bash-completion 2>$null)
	# Without candidates PowerShell completes files.
	$found | Where-Object { $_ -clike "$word*" } | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}
