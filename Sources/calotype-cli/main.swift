import Calotype

print("calotype \(CalotypeVersion.string)")
