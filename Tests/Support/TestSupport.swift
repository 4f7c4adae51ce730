import Calotype
